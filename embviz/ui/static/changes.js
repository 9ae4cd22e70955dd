// What changed: how far each token turned, which of its numbers are others now, and where the segments lie.

import { variable } from "./colours.js";
import { make, piece } from "./dom.js";
import { createFold } from "./fold.js";
import { createStack } from "./heatmaps.js";
import { createRowFigure } from "./rowfigure.js";
import { changedRow, current, subscribe } from "./store.js";
import { numberCell } from "./tables.js";
import { exact, plain, signed, text } from "./words.js";

const changes = () => current().parts?.changes;

/** Draws the tab What changed into `element`. */
export function mountChanges(element) {
  const root = element.querySelector(".ev-changes");
  root.classList.add("ev-card");
  const empty = createNothing(text("changes.nothing_hint"));
  const [bars, delta, lens] = [createBars(), createDelta(), createLens()];
  const sections = [
    section("bars", bars, bars.figure.host, bars.fold.element),
    section("delta", delta, delta.stack.toolbar, delta.stack.host, delta.fold.element),
    section("lens", lens, lens.figure.host, lens.fold.element),
  ];
  root.append(make("h2", { class: "ev-unseen" }, text("tab.changes")), empty.element, ...sections);
  subscribe(["parts"], () => {
    const something = empty.show(changes());
    for (const one of sections) one.hidden = !something;
    if (something) for (const view of [bars, delta, lens]) view.say.textContent = changes().sentences[view.key];
  });
  subscribe(["parts", "colours"], (state) => {
    if (!changes()?.changed) return;
    const hasLens = Boolean(changes().figures.lens);
    lens.figure.host.hidden = lens.fold.element.hidden = !hasLens;
    bars.figure.draw();
    delta.stack.show(state);
    if (hasLens) lens.figure.draw();
    for (const view of [bars, delta, lens]) view.fold.draw();
  });
  subscribe(["selection"], () => changes()?.changed && delta.fold.draw());
}

/** What stands in a tab while nothing is changed; `show(changes)` says whether something is. */
export function createNothing(hint) {
  const [what, how] = [make("b"), make("span")];
  const element = make("p", { class: "ev-empty ev-nothing" }, what, how);
  return {
    element,
    show(sent) {
      element.hidden = Boolean(sent?.changed);
      what.textContent = sent ? (sent.sentences.nothing ?? "") : text("changes.nothing");
      how.textContent = sent ? "" : hint;
      return Boolean(sent?.changed);
    },
  };
}

function section(key, view, ...content) {
  view.key = key;
  view.say = make("p", { class: "ev-say" });
  const [fold] = content.slice(-1);
  return make("section", { class: "ev-part-of-tab" }, make("h3", {}, text(`changes.${key}`)), ...content.slice(0, -1), view.say, fold);
}

/** The tokens of the window as rows of a table: the piece, and then what `cells` gives for the row of the window. */
export function tokenRows(cells) {
  const { parts } = current();
  return Array.from({ length: parts.stop - parts.start }, (_, at) => {
    const index = parts.start + at;
    return { index, cells: [make("td", {}, piece(parts.tokens[index])), ...cells(at, index)] };
  });
}

/** Which token a point of a figure is about, for the box beside the pointer. */
export const whose = (token, value, what) => [
  make("b", {}, value),
  make("small", {}, text("changes.tip_moved", { token, piece: current().parts.tokens[token]?.piece ?? "", part: what })),
];

function createBars() {
  const stages = () => Object.keys(changes()?.distances ?? {});
  const figure = createRowFigure(text("changes.bars_label"), {
    spec: () => changes()?.figures?.bars,
    dress(trace) {
      trace.marker.color = variable(trace.meta === "output" ? "mute" : trace.meta);
      trace.textfont = { ...trace.textfont, color: variable("ink") };
    },
    tell: ({ data, x, y }) => whose(y, exact(x ?? Number.NaN), text(`part.${data.meta}`)),
  });
  const fold = createFold(text("changes.numbers"), "token", () => ({
    columns: [
      text("tables.index"),
      text("tables.piece"),
      ...stages().map((name) => text("changes.column_distance", { part: text(`part.${name}`) })),
    ],
    rows: tokenRows((at) => stages().map((name) => numberCell(changes().distances[name][at], (one) => plain(one, 6)))),
  }));
  return { figure, fold };
}

function createDelta() {
  const stages = () => Object.keys(changes()?.rows ?? {});
  const limit = (axis) => {
    const { limit: most, min, max } = changes().scale[stages()[Number(axis.replace("coloraxis", "") || 1) - 1]];
    return current().range === "full" ? Math.max(Math.abs(min), Math.abs(max)) || 1 : most;
  };
  const stack = createStack({
    label: text("changes.delta_label"),
    spec: () => changes()?.figures?.delta,
    row: changedRow,
    name: (part) => text("changes.tip_delta", { part: text(`part.${part}`) }),
    limit,
    orders: () => [["change", text("changes.order_change"), changes()?.order]],
  });
  const fold = createFold(text("changes.delta_numbers"), "dim", () => {
    const { parts, token } = current();
    const values = stages().map((name) => changedRow(name, token));
    const columns = stages().map((name) => text("changes.column_delta", { part: text(`part.${name}`) }));
    const rows = Array.from({ length: parts.width }, (_, index) => ({
      index,
      cells: values.map((numbers) => numberCell(numbers?.[index], signed)),
    }));
    return { columns: [text("tables.dim"), ...columns], rows };
  });
  return { stack, fold };
}

function createLens() {
  const times = ["before", "after"];
  const figure = createRowFigure(text("changes.lens_label"), {
    spec: () => changes()?.figures?.lens,
    dress(trace) {
      if (trace.line) trace.line.color = variable("mute");
      if (trace.meta === "times") trace.marker.color = variable("mute");
    },
    tell: ({ data, x, y }) => (times.includes(data.meta) ? whose(y, signed(x, 6), text(`changes.column_${data.meta}`)) : null),
  });
  const fold = createFold(text("changes.numbers"), "token", () => ({
    columns: [text("tables.index"), text("tables.piece"), ...times.map((time) => text(`changes.column_${time}`))],
    rows: tokenRows((at) => times.map((time) => numberCell(changes().lens[time]?.[at], (one) => signed(one, 6)))),
  }));
  return { figure, fold };
}
