// The rows and columns of a strip: names of the parts, and one column a token with a tile for each part.

import { make, piece } from "./dom.js";
import { PARTS, current, isChanged, rowBefore } from "./store.js";
import { cellSize, gridOf, tileCanvas } from "./tile.js";
import { refusal } from "./whatif.js";
import { plain, text } from "./words.js";

export const SIGNS = { token: "", segment: "+", position: "+", constant: "+", summed: "=", normalized: "→", output: "→" };
const TILE_WIDTH = 64; // CSS pixels; a tile is wider where its dimensions would not have a pixel each

/** The names of the rows, with the sign that leads from one to the next. */
export function buildLabels(labels, sent, names = PARTS) {
  labels.replaceChildren(make("span"));
  for (const name of names) {
    const absent = sent.rows[name].absent;
    labels.append(
      make(
        "span",
        { class: absent ? "ev-off" : null, title: absent },
        make("i", { class: "ev-sign" }, SIGNS[name]),
        make("i", { class: `ev-dot ev-${name}` }),
        make("b", {}, text(`part.${name}`)),
      ),
    );
  }
  if (!sent.what_if?.changed) return;
  const ghost = text(`part.${lastOf(sent)}`);
  labels.append(
    make("span", { class: "ev-ghostly" }, text("whatif.before", { part: ghost })),
    make("span", { class: "ev-ghostly", title: text("whatif.moved_hint") }, text("whatif.moved", { part: entering(sent) })),
  );
}

/** What enters the encoder: the output after dropout, else the LayerNorm, else the sum. */
const entering = ({ rows }) => text(`part.${["output", "normalized", "summed"].find((name) => rows[name] && rows[name].absent === undefined)}`);

/** The last part of the sum that this model has: its LayerNorm, or the sum itself. */
export const lastOf = (sent) => (rowBefore("normalized", sent.start) ? "normalized" : "summed");

/** The columns of the tokens that were sent, into `list` and `view.columns`; `names` are the rows. */
export function buildColumns(list, view, sent, names = PARTS) {
  const grid = gridOf(sent.width);
  const size = cellSize(Math.max(TILE_WIDTH / grid.columns, 1.5));
  list.parentElement.style.setProperty("--tile-height", `${grid.rows * size}px`);
  list.parentElement.style.setProperty("--tile-width", `${grid.columns * size}px`);
  list.parentElement.style.setProperty("--rows", ["44px", ...names.map(heightOf), ...(sent.what_if?.changed ? ["var(--tile-height)", "20px"] : [])].join(" "));
  view.columns = [];
  view.selected = view.hovered = null;
  for (let token = sent.start; token < sent.stop; token++) view.columns.push(buildColumn(sent, token, [grid, size], names));
  list.replaceChildren(...view.columns.map((column) => column.element));
  for (const name of names)
    if (sent.rows[name].absent) list.append(reasonOf(name, sent.rows[name].absent, names));
}

/** The height of a row: those of segments and positions have a name below each tile. */
const heightOf = (name) => (isNamed(name) ? "calc(var(--tile-height) + 17px)" : "var(--tile-height)");
const isNamed = (name) => name === "segment" || name === "position";

/** Why the model has no such part, once across the row. */
function reasonOf(name, reason, names) {
  const above = names.slice(0, names.indexOf(name));
  const element = make("p", { class: "ev-reason" }, reason);
  const fixed = 49 + 5 * above.length + 17 * above.filter(isNamed).length;
  element.style.top = `calc(${fixed}px + ${above.length} * var(--tile-height))`;
  return element;
}

/** One token: its index and piece, and its five tiles with their names. */
function buildColumn(sent, token, [grid, size], names) {
  const entry = sent.tokens[token];
  // What a screen reader says after index and piece; the names below the tiles say the same to the eye.
  const spoken = text(entry.special || entry.typed ? "strip.option_special" : "strip.option", {
    segment: letter(entry.segment, sent.model),
    position: entry.position,
  });
  const element = make("div", {
    class: `ev-column ev-${side(entry, sent)}`,
    role: "option",
    "aria-selected": "false",
    tabindex: "-1",
    "data-token": token,
  });
  element.append(
    make(
      "div",
      { class: entry.note ? "ev-head ev-noted" : "ev-head", title: entry.note ?? entry.piece },
      make("small", {}, token),
      " ",
      piece(entry),
      make("span", { class: "ev-unseen" }, [spoken, entry.note].filter(Boolean).join(". ")),
    ),
  );
  const canvases = {};
  for (const name of names) {
    const cell = make("div", { class: sent.rows[name].absent ? "ev-crossing ev-absent" : "ev-crossing", "data-part": name });
    if (!sent.rows[name].absent) cell.append((canvases[name] = tileCanvas(grid, size)));
    if (isNamed(name) && !sent.rows[name].absent) cell.append(nameOf(name, entry, sent, token));
    if (sent.what_if && isChanged(name, token)) cell.classList.add("ev-changed");
    element.append(cell);
  }
  const ghost = sent.what_if?.changed ? tileCanvas(grid, size) : null;
  if (ghost) element.append(make("div", { class: "ev-crossing ev-ghost" }, ghost), howFar(sent, token));
  return { element, canvases, ghost, token };
}

/** How far a token moved: the cosine distance of what enters the encoder, as a number over a bar. */
function howFar(sent, token) {
  const { cosine } = sent.what_if.moved.output;
  const most = cosine.reduce((largest, value) => (value > largest ? value : largest), 0);
  const value = cosine[token - sent.start];
  const element = make("div", { class: "ev-moved", title: text("whatif.moved_hint") }, Number.isFinite(value) ? plain(value, 3) : "–");
  element.style.setProperty("--share", most ? value / most || 0 : 0);
  return element;
}

/** E with an index below, as the paper writes it; where a what-if made it another, both. */
function nameOf(part, entry, { model, what_if }, token) {
  const shown = ({ segment, position }) => ["E", make("sub", {}, part === "segment" ? letter(segment, model) : position)];
  const before = what_if?.before?.tokens[token];
  const other = before && before[part] !== entry[part];
  const names = [...(other ? [make("s", {}, ...shown(before)), " → "] : []), ...shown(entry)];
  const reason = what_if ? refusal(part === "segment" ? "FlipSegment" : "MovePosition") : "";
  const title = reason ?? text(`strip.${part}_hint`); // what cannot be changed here has no hand
  return make("span", { class: reason === undefined ? "ev-name ev-hand" : "ev-name", "aria-hidden": "true", title: title || null }, ...names);
}

/** A and B as in the paper; further segments have their number. */
export function letter(segment, model = current().parts?.model) {
  const alone = model?.type_vocab_size === 1; // one row for both sentences is neither A nor B
  return (alone ? null : "AB"[segment]) ?? String(segment);
}

/** The tint of a column: its segment, or the sentence where the model has no segments. */
function side(entry, sent) {
  if (sent.rows.segment.absent) return entry.sentence ?? "a";
  return entry.segment === 1 ? "b" : "a";
}

/** Scrolls the strip, and only the strip, until the column stands free of the row names. */
export function bringIntoView(scroller, column) {
  const left = column.offsetLeft - scroller.firstElementChild.offsetWidth;
  const right = column.offsetLeft + column.offsetWidth;
  const margin = column.offsetWidth / 2;
  if (left - margin < scroller.scrollLeft) scroller.scrollLeft = left - margin;
  else if (right + margin > scroller.scrollLeft + scroller.clientWidth)
    scroller.scrollLeft = right + margin - scroller.clientWidth;
}
