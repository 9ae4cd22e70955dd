// Layers: how far each token moved in every layer of the model. Asked for when the tab can be seen, not before.

import { createNothing, tokenRows, whose } from "./changes.js";
import { plotlyScale, variable } from "./colours.js";
import { make } from "./dom.js";
import { isNarrow, numbers } from "./figure.js";
import { createFold } from "./fold.js";
import { dressedBar } from "./heatmaps.js";
import { createRowFigure } from "./rowfigure.js";
import { current, subscribe } from "./store.js";
import { numberCell } from "./tables.js";
import { whenVisible } from "./visible.js";
import { exact, plain, text } from "./words.js";

const SETTLING = 100; // milliseconds
const DIGIT = 6.3; // CSS pixels of a digit in a cell, beside which there is some room
const BESIDE_CELLS = 150; // what a narrow window has beside the cells

let settle = () => {};

/** The question of this tab was answered, or with `failed` it was not. */
export const layersSettled = (failed = false) => settle(failed);

/** Draws the Layers tab into `element`; reports "layers" when it is seen and has not the numbers of the input. */
export function mountLayers(element, gradio) {
  const root = element.querySelector(".ev-layers");
  root.classList.add("ev-card");
  const view = { answer: null, asked: "", sizes: new Map() };
  const nothing = createNothing(text("layers.nothing_hint"));
  const wait = make("p", { class: "ev-empty ev-wait", role: "status", hidden: true });
  const [sentence, button] = [make("p"), make("button", { type: "button" })];
  const question = make("div", { class: "ev-empty ev-question", hidden: true }, sentence, button);
  const figure = createFigureOf(view);
  const fold = createFoldOf(view);
  const say = make("p", { class: "ev-say" });
  const drawn = make("div", { hidden: true }, figure.host, say, fold.element);
  root.append(make("h2", { class: "ev-unseen" }, text("tab.layers")), nothing.element, wait, question, drawn);

  const show = (...shown) => {
    for (const one of [wait, question, drawn]) one.hidden = !shown.includes(one);
    root.classList.toggle("ev-again", shown.length > 1);
  };
  // One question at a time: the server would work through all that a slider passes.
  const ask = (download = false, size = "") => {
    const { query, start } = current().parts;
    view.asked = keyOf({ query, start });
    wait.textContent = download ? text("layers.fetch", { size }) : text("layers.wait");
    showWait();
    gradio.trigger("layers", { query, start, download });
  };
  // What was drawn last stays, faintly: the page would jump at every step of a slider.
  const showWait = () => show(wait, ...(drawn.hidden ? [] : [drawn]));
  const put = (said, label, action) => {
    sentence.textContent = said;
    button.hidden = !label;
    button.textContent = label ?? "";
    button.onclick = action;
    show(question);
  };
  const showAnswer = (answer) => {
    if (answer.state === "ask") return put(answer.text, text("layers.download", answer), () => ask(true, answer.size));
    if (answer.state !== "ok") return put(answer.text);
    for (const name of ["distances", "means", "yardstick"]) view[name] = numbers(answer[name]);
    view.figure = answer.figure;
    say.textContent = answer.sentence;
    show(drawn);
    figure.draw();
    fold.draw();
  };
  const look = whenVisible(root, () => {
    const { parts } = current();
    if (!nothing.show(parts.changes)) return show();
    if (view.asked !== keyOf(parts) && fits(view.answer, parts)) showAnswer(view.answer);
    else if (view.asked) showWait();
    else ask();
  });
  const take = () => {
    if (!gradio.props.value) return;
    view.answer = JSON.parse(gradio.props.value);
    const { parts } = current();
    if (parts?.changes?.changed && fits(view.answer, parts)) showAnswer(view.answer);
  };
  settle = (failed) => {
    const { asked } = view;
    view.asked = "";
    if (failed && asked === keyOf(current().parts)) put(text("layers.failed"), text("layers.retry"), () => ask());
    else setTimeout(() => wait.hidden || look(), SETTLING); // the answer has come, or was about what was here before
  };
  gradio.watch("value", take);
  take();
  subscribe(["parts"], () => look());
  subscribe(["colours"], () => view.figure && figure.draw());
}

/** What an answer is about. */
const keyOf = ({ query, start }) => `${start} ${query}`;

const fits = (answer, parts) => answer !== null && keyOf(answer) === keyOf(parts);

function createFigureOf(view) {
  return createRowFigure(text("layers.label"), {
    spec: () => view.figure,
    dress(trace, layout) {
      if (trace.meta !== "tokens") {
        const colour = variable(trace.meta === "mean" ? "ink" : "mute");
        trace.line.color = colour;
        trace.marker = { ...trace.marker, color: colour };
        return;
      }
      layout.coloraxis.colorscale = rising();
      layout.coloraxis.showscale = !isNarrow();
      Object.assign(layout.coloraxis.colorbar, dressedBar());
      layout.coloraxis.colorbar.title.font = { color: variable("mute"), size: 12 };
      trace.textfont = { size: 11 };
      const digits = trace.texttemplate?.includes(".3f") ? 5 : 4;
      if (isNarrow() && (innerWidth - BESIDE_CELLS) / view.means.length < digits * DIGIT) delete trace.texttemplate;
    },
    tell: ({ data, x, y, z }) =>
      data.meta === "tokens"
        ? whose(y, exact(z ?? Number.NaN), layerName(x))
        : [make("b", {}, exact(y)), make("small", {}, `${data.name}, ${layerName(x)}`)],
  });
}

const layerName = (layer) => (layer === 0 ? text("layers.column_input") : text("layers.column_layer", { layer }));

/** The upper half of the values' scale, since a distance is never below zero. */
function rising() {
  const upper = plotlyScale().filter(([at]) => at >= 0.5);
  return upper.map(([at, colour]) => [2 * at - 1, colour]);
}

/** The tokens and, below them, the mean of each layer and its yardstick. */
function createFoldOf(view) {
  return createFold(text("changes.numbers"), "token", () => {
    const count = view.means?.length ?? 0;
    const cells = (values, from) =>
      Array.from({ length: count }, (_, layer) => numberCell(values[from + layer], (one) => plain(one, 4)));
    const last = (name, values) => ({
      index: null,
      cells: [make("td", {}, text(name)), ...cells(values, 0)],
    });
    return {
      columns: [text("tables.index"), text("tables.piece"), ...Array.from({ length: count }, (_, layer) => layerName(layer))],
      rows: [
        ...tokenRows((at) => cells(view.distances, at * count)),
        last("layers.column_mean", view.means),
        last("layers.column_yardstick", view.yardstick),
      ],
    };
  });
}
