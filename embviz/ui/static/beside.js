// Side by side: the input on the page and a second one, in two strips, one map and two tables.

import { besideQuery, setBeside } from "./address.js";
import { createBesideForm } from "./besideform.js";
import { createSideStrip, scaleBars } from "./besidestrip.js";
import { createTable, fillCosines, fillNumbers } from "./besidetables.js";
import { variable } from "./colours.js";
import { make, switches } from "./dom.js";
import { createFigure, isNarrow, onPoint } from "./figure.js";
import { createOverlay, label, ring, scaleOfAxes, within } from "./overlay.js";
import { query, subscribe } from "./store.js";
import { whenVisible } from "./visible.js";
import { text } from "./words.js";

const SIDES = ["this", "other"];
const HEIGHT = 440;
const SMALL_HEIGHT = 360;

let settle = () => {};

/** The question of this tab was answered, or with `failed` it was not. */
export const besideSettled = (failed = false) => settle(failed);

/** Draws the tab into `element`; reports "compare" with two queries. */
export function mountBeside(element, gradio) {
  const root = element.querySelector(".ev-beside");
  root.classList.add("ev-card");
  const { models } = JSON.parse(gradio.props.value);
  const view = { sent: null, shown: "summed", chosen: { this: null, other: null }, last: "this", asked: null, under: false, next: null };
  // One question at a time; of those that are put meanwhile, the last follows.
  const ask = (other) => {
    setBeside(other);
    form.wait();
    if (view.under) return (view.next = other);
    view.under = true;
    view.asked = query();
    gradio.trigger("compare", { query: view.asked, other });
  };
  settle = (failed) => {
    const next = view.next ?? (view.asked === query() ? null : besideQuery());
    Object.assign(view, { under: false, next: null });
    if (next !== null) return ask(next);
    if (failed) form.say(text("beside.failed"));
    else form.done(); // the same answer as before says nothing of itself
  };
  const form = createBesideForm(models, ask);
  const result = createResult(view);
  root.append(make("h2", { class: "ev-unseen" }, text("tab.beside")), form.element, result.element);

  gradio.watch("value", () => {
    const sent = JSON.parse(gradio.props.value);
    if (sent.models) return;
    form.say(sent.error ?? "");
    if (!sent.error) result.show(sent);
  });
  const follow = whenVisible(root, () => besideQuery() !== null && view.asked !== query() && ask(besideQuery()));
  subscribe(["parts"], () => {
    form.fill(besideQuery() ?? query());
    follow();
  });
  subscribe(["colours"], result.recolour);
}

/**
 * A link to a comparison opens its tab, as soon as there is one. On a narrow page Gradio moves tabs into a menu, and
 * does so again and again while it draws: a click may be lost, so it is tried until the form can be seen.
 */
export function openFromAddress(tries = 100) {
  const seen = document.querySelector(".ev-besideform")?.offsetParent;
  if (besideQuery() === null || seen || tries === 0) return;
  const inMenu = [...document.querySelectorAll("#embviz-tabs .overflow-dropdown button")];
  const tab =
    document.querySelector('#embviz-tabs [data-tab-id="beside"]') ??
    inMenu.find((one) => one.textContent.trim() === text("tab.beside"));
  tab?.click();
  setTimeout(openFromAddress, 150, tab ? tries - 1 : tries);
}

function createResult(view) {
  const strips = {};
  const choose = (side, token) => {
    view.last = side;
    view.chosen[side] = token;
    const [mine, theirs] = side === "this" ? [0, 1] : [1, 0];
    const pair = view.sent.pairs.find((one) => one[mine] === token) ?? atOnePlace(view.sent, token);
    if (pair) view.chosen[SIDES[theirs]] = pair[theirs];
    for (const one of SIDES) strips[one].select(view.chosen[one]);
    maps.mark();
  };
  for (const side of SIDES) strips[side] = createSideStrip(side, (token) => choose(side, token));
  const legend = make("div", { class: "ev-legend" });
  const maps = createMaps(view, choose);
  const showScales = () => {
    const { sent } = view;
    legend.replaceChildren(...(sent.common ? scaleBars(SIDES.map((side) => sent[side])) : []));
    legend.hidden = !sent.common;
    for (const side of SIDES) {
      strips[side].legend.replaceChildren(...(sent.common ? [] : scaleBars([sent[side]])));
      strips[side].legend.hidden = sent.common;
    }
  };
  const say = make("p", { class: "ev-say" });
  const numbers = createTable(text("beside.numbers"));
  const cosines = createTable(text("beside.cosines"));
  const empty = make("p", { class: "ev-empty" }, text("beside.empty"));
  const full = make(
    "div",
    { class: "ev-result", hidden: true },
    say,
    legend,
    strips.this.element,
    strips.other.element,
    maps.element,
    numbers.section,
    cosines.section,
  );
  return {
    element: make("div", {}, empty, full),
    show(sent) {
      view.sent = sent;
      empty.hidden = true;
      full.hidden = false;
      say.textContent = sent.sentence;
      for (const side of SIDES) strips[side].show(sent[side]);
      showScales();
      fillNumbers(numbers, sent);
      fillCosines(cosines, sent);
      view.chosen.other = null;
      choose("this", Math.min(2, sent.this.stop - 1));
      maps.draw();
    },
    recolour() {
      if (!view.sent) return;
      showScales();
      for (const side of SIDES) strips[side].paint();
      maps.draw();
    },
  };
}

/** The same piece at the same place of two models, which are not paired by ids. */
function atOnePlace({ this: one, other }, token) {
  const alike = one.tokens[token] && one.tokens[token].piece === other.tokens[token]?.piece;
  return alike ? [token, token] : undefined;
}

/** The map: one in a common basis, or one for each side in its own. */
function createMaps(view, choose) {
  const choices = [
    ["summed", text("part.summed")],
    ["normalized", text("part.normalized")],
  ];
  const what = switches(text("map.what"), "embviz-beside-what", choices, (value) => {
    view.shown = value;
    draw();
  });
  what.set(view.shown);
  const figures = [0, 1].map((at) => {
    const host = make("div", { class: "ev-host" });
    const figure = createFigure(host, text("beside.map"), () => compose(view, at), () => {
      onPoint(figure, "click", (point) => {
        const side = point?.data?.meta;
        if (SIDES.includes(side)) choose(side, point.customdata);
      });
      onPoint(figure, "relayout", mark);
      mark();
    });
    return { host, figure, overlay: createOverlay(figure) };
  });
  const title = make("h3");
  function draw() {
    title.textContent = text(view.sent.common ? "beside.map" : "beside.maps");
    const specs = view.sent.maps[view.shown];
    figures.forEach(({ host, figure }, at) => {
      host.hidden = !specs[at];
      if (specs[at]) figure.draw();
    });
  }
  function mark() {
    for (const { figure, overlay } of figures)
      overlay.draw(figure.drawn && figure.plot.offsetParent !== null ? marksOf(view, figure.plot) : []);
  }
  const hosts = make("div", { class: "ev-maps" }, ...figures.map(({ host }) => host));
  const element = make("section", {}, title, make("div", { class: "ev-toolbar" }, what.group), hosts);
  return { element, draw, mark };
}

function compose(view, at) {
  const spec = view.sent?.maps[view.shown][at];
  if (!spec) return null;
  const data = structuredClone(spec.data);
  for (const trace of data) {
    if (trace.meta === "pairs") trace.line.color = variable("mute");
    if (!SIDES.includes(trace.meta)) continue;
    trace.marker.color = trace.marker.line.color = variable(view.shown);
    trace.cliponaxis = false;
    trace.textfont = { color: variable(trace.meta === "this" ? "ink" : "mute"), size: 13 };
  }
  if (!isNarrow()) return { data, layout: { height: HEIGHT, ...spec.layout } };
  return { data, layout: { ...spec.layout, height: SMALL_HEIGHT, margin: { ...spec.layout.margin, l: 44, r: 36 } } };
}

/** A ring around the chosen token of each side that this plot shows. */
function marksOf(view, plot) {
  const scale = scaleOfAxes(plot);
  if (!scale) return [];
  const marks = [];
  for (const side of SIDES) {
    const trace = plot.data.find((one) => one.meta === side);
    const point = view.sent[side].points[view.shown][view.chosen[side]];
    if (!trace || !point || point[0] === null) continue;
    const place = [scale.x(point[0]), scale.y(point[1])];
    const drawn = Array.from(trace.customdata ?? []).indexOf(view.chosen[side]);
    if (drawn < 0 || !within(scale, place)) continue; // a special token that is left out has no place here
    marks.push(ring(place, 9.5, variable(side === view.last ? "ink" : "mute"), 2.2));
    if (trace.text?.[drawn]) continue;
    const named = `${view.sent[side].tokens[view.chosen[side]].piece} ${view.chosen[side]}`;
    marks.push(label([place[0], place[1] - 15], named, variable("ink"), variable("panel")));
  }
  return marks;
}
