// The numbers of "Side by side" as tables: lengths and shares by part, and cosines by token.

import { make, piece } from "./dom.js";
import { exact, plain, text } from "./words.js";

const SIDES = ["this", "other"];

/** An empty table that scrolls within itself. */
export function createTable(title) {
  const [head, body] = [make("thead"), make("tbody")];
  const caption = make("caption", { class: "ev-unseen" }, title);
  const frame = make(
    "div",
    { class: "ev-tableframe", tabindex: "0", role: "region", "aria-label": title },
    make("table", { class: "ev-table" }, caption, head, body),
  );
  return { section: make("section", {}, make("h3", { "aria-hidden": "true" }, title), frame), head, body };
}

const heading = (...content) => make("th", { scope: "col" }, ...content);
const numeric = (name) => make("th", { scope: "col", class: "ev-numeric" }, name);
const dot = (name) => make("i", { class: `ev-dot ev-${name}` });

function cell(value, shown) {
  const missing = value === null || value === undefined;
  return make("td", { class: "ev-numeric", title: missing ? null : exact(value) }, missing ? "–" : shown(value));
}

/** Mean lengths and shares of the variance, part by part. */
export function fillNumbers({ head, body }, sent) {
  const named = () => SIDES.map((side) => numeric(text(`beside.${side}`)));
  const group = (name) => make("th", { scope: "colgroup", colspan: "2", class: "ev-numeric" }, name);
  head.replaceChildren(
    make("tr", {}, heading(), group(text("beside.length")), group(text("beside.share"))),
    make("tr", {}, heading(text("beside.part")), ...named(), ...named()),
  );
  const shares = Object.fromEntries(sent.shares.map(([name, ...values]) => [name, values]));
  const norms = Object.fromEntries(sent.norms.map(([name, ...values]) => [name, values]));
  const percent = (value) => `${plain(Math.abs(value) < 5e-4 ? 0 : 100 * value, 1)} %`;
  const names = [...new Set([...sent.norms, ...sent.shares].map(([name]) => name))];
  const rows = names.map((name) => {
    const shown = name === "cross" ? [text("beside.cross")] : [dot(name), text(`part.${name}`)];
    const cells = [[norms, (value) => plain(value, 3)], [shares, percent]].flatMap(([table, format]) =>
      [0, 1].map((at) => cell(table[name]?.[at], format)),
    );
    return make("tr", {}, make("th", { scope: "row" }, ...shown), ...cells);
  });
  body.replaceChildren(...rows);
}

/** The cosine of the two vectors of each token that stands in both. */
export function fillCosines({ section, head, body }, sent) {
  const names = Object.keys(sent.cosines);
  section.hidden = !sent.pairs.length;
  const parts = names.map((name) => make("th", { scope: "col", class: "ev-numeric" }, dot(name), text(`part.${name}`)));
  const places = SIDES.map((side) => numeric(text("beside.place", { side: text(`beside.${side}`) })));
  head.replaceChildren(make("tr", {}, heading(text("tables.piece")), ...places, ...parts));
  const rows = sent.pairs.map(([here, there], at) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, piece(sent.this.tokens[here])),
      make("td", { class: "ev-numeric" }, here),
      make("td", { class: "ev-numeric" }, there),
      ...names.map((name) => cell(sent.cosines[name][at], (value) => plain(value, 3))),
    ),
  );
  body.replaceChildren(...rows);
}
