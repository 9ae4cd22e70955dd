// The strip: one column a token, one row a part, each crossing a tile of the real vector.

import { make, piece } from "./dom.js";
import { PARTS, current, forgetWanted, hover, isChanged, query, rowBefore, select, subscribe } from "./store.js";
import { createBanner } from "./banner.js";
import { createLegend } from "./legend.js";
import { createStale } from "./opening.js";
import { cellSize, gridOf, paint, paintBefore, tileCanvas } from "./tile.js";
import { flipSegment, movePosition, refusal } from "./whatif.js";
import { plain, text } from "./words.js";

export const SIGNS = { token: "", segment: "+", position: "+", constant: "+", summed: "=", normalized: "→", output: "→" };
const TILE_WIDTH = 64; // CSS pixels; a tile is wider where its dimensions would not have a pixel each

/** Draws the strip into `element`; asks for "window" when another stretch of tokens is wanted. */
export function mountStrip(element, gradio) {
  const root = element.querySelector(".ev-strip");
  root.classList.add("ev-card");
  root.append(make("h2", { class: "ev-unseen" }, text("strip.title")));
  const legend = createLegend();
  const labels = make("div", { class: "ev-labels", "aria-hidden": "true" });
  const list = make("div", {
    class: "ev-columns",
    role: "listbox",
    "aria-orientation": "horizontal",
    "aria-label": text("strip.list"),
  });
  const scroller = make("div", { class: "ev-scroller" }, labels, list);
  const pager = createPager(gradio);
  const say = make("p", { class: "ev-say" });
  root.append(createStale(), createBanner(), legend.element, scroller, make("div", { class: "ev-under" }, say, pager.element), skeleton());
  root.classList.add("ev-waiting");

  const view = { columns: [], selected: null, hovered: null, refocus: false };
  listenTo(list, view);
  subscribe(["parts"], (state) => {
    root.classList.remove("ev-waiting");
    root.querySelector(".ev-skeleton")?.remove();
    buildLabels(labels, state.parts);
    view.refocus = list.contains(document.activeElement); // new columns take the focus of the old ones
    buildColumns(list, view, state.parts);
    say.textContent = state.parts.sentences?.strip ?? "";
    pager.show(state.parts);
  });
  subscribe(["parts", "colours"], () => paintColumns(view));
  subscribe(["parts", "colours"], legend.show);
  subscribe(["parts", "selection", "hover"], (state) => mark(view, state, scroller));
  subscribe(["window"], pager.fetchWanted);
}

/** Grey columns that stand where the strip will be, while the model is being opened. */
function skeleton() {
  const columns = Array.from({ length: 12 }, () => make("i"));
  return make(
    "div",
    { class: "ev-skeleton", role: "status" },
    make("div", { "aria-hidden": "true" }, ...columns),
    make("p", {}, text("strip.warming")),
  );
}

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
    make("span", { class: "ev-ghostly", title: text("whatif.moved_hint") }, text("whatif.moved")),
  );
}

/** The last part of the sum that this model has: its LayerNorm, or the sum itself. */
const lastOf = (sent) => (rowBefore("normalized", sent.start) ? "normalized" : "summed");

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

function paintColumns(view) {
  for (const { canvases, ghost, token } of view.columns) {
    for (const name in canvases) paint(canvases[name], name, token);
    if (ghost) paintBefore(ghost, lastOf(current().parts), token);
  }
}

/** Moves the two marks: the sticky one of the selected token and the passing one under the pointer. */
function mark(view, state, scroller) {
  const at = (token) => (token === null ? undefined : view.columns[token - state.parts.start]?.element);
  if (view.selected !== state.token) {
    const [before, now] = [at(view.selected), at(state.token)];
    before?.setAttribute("aria-selected", "false");
    before?.setAttribute("tabindex", "-1");
    now?.setAttribute("aria-selected", "true");
    now?.setAttribute("tabindex", "0");
    // Whichever column has the focus: two keys may come within one frame.
    const typing = document.activeElement?.matches("input"); // the field of a position keeps the focus
    if (view.refocus || (scroller.contains(document.activeElement) && !typing)) now?.focus({ preventScroll: true });
    view.refocus = false;
    if (now) bringIntoView(scroller, now);
    view.selected = state.token;
  }
  if (view.hovered !== state.hovered) {
    at(view.hovered)?.classList.remove("ev-hovered");
    at(state.hovered)?.classList.add("ev-hovered");
    view.hovered = state.hovered;
  }
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

function listenTo(list, view) {
  const tokenAt = (event) => {
    const column = event.target.closest?.(".ev-column");
    return column ? Number(column.dataset.token) : null;
  };
  list.addEventListener("pointerover", (event) => event.pointerType !== "touch" && hover(tokenAt(event)));
  list.addEventListener("pointerleave", () => hover(null));
  list.addEventListener("click", (event) => {
    const token = tokenAt(event);
    if (token === null) return;
    select({ token });
    event.target.closest(".ev-column").focus({ preventScroll: true });
    const part = event.target.closest("[data-part]")?.dataset.part;
    if (part === "segment") flipSegment(token);
    if (part === "position") askPosition(event.target.closest("[data-part]"), token);
  });
  list.addEventListener("keydown", (event) => {
    const { token, parts } = current();
    const focused = tokenAt(event) ?? token;
    if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "f") flipSegment(focused);
    if (event.key === "p") askPosition(view.columns[focused - parts.start].element.querySelector("[data-part=position]"), focused);
    if (event.key === "f" || event.key === "p") return event.preventDefault();
    const target = {
      ArrowLeft: token - 1, ArrowRight: token + 1, Home: 0, End: parts.total - 1, " ": focused, Enter: focused,
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    view.columns[token - parts.start]?.element.focus({ preventScroll: true });
    select({ token: target });
  });
}

/** A field in place of the name of a position; what is typed there moves the token. */
function askPosition(cell, token) {
  if (refusal("MovePosition") || cell.classList.contains("ev-absent") || cell.querySelector("input")) return;
  const { tokens, what_if } = current().parts;
  const name = cell.querySelector(".ev-name");
  const field = make("input", {
    type: "number", class: "ev-position-field", min: 0, max: what_if.rows - 1, value: tokens[token].position,
    "aria-label": text("strip.position_field", { token, piece: tokens[token].piece }),
  });
  let open = true;
  const close = (take) => {
    if (!open) return;
    open = false;
    const value = field.valueAsNumber;
    const valid = field.validity.valid && Number.isInteger(value);
    field.replaceWith(name);
    cell.closest(".ev-column").focus({ preventScroll: true });
    if (take && valid && value !== tokens[token].position) movePosition(token, value);
  };
  field.addEventListener("blur", () => close(true));
  field.addEventListener("click", (event) => event.stopPropagation());
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") close(true);
    if (event.key === "Escape") close(false);
  });
  name.replaceWith(field);
  field.focus();
  field.select();
}

/** « tokens 0–63 of 512 »: shown only where not all tokens were sent. */
function createPager(gradio) {
  const ask = (start) => {
    const sent = current().parts;
    const size = sent.stop - sent.start;
    window.embviz.busy();
    gradio.trigger("window", { query: query(), start: Math.max(0, Math.min(start, sent.total - size)) });
  };
  const move = (windows) => {
    const sent = current().parts;
    const size = sent.stop - sent.start;
    forgetWanted();
    ask(sent.start + windows * size);
  };
  const back = make("button", { type: "button", "aria-label": text("strip.earlier"), onclick: () => move(-1) }, "«");
  const forth = make("button", { type: "button", "aria-label": text("strip.later"), onclick: () => move(1) }, "»");
  const range = make("span", { "aria-live": "polite" });
  const element = make("div", { class: "ev-pager", hidden: true }, back, range, forth);
  return {
    element,
    show(sent) {
      element.hidden = sent.stop - sent.start >= sent.total;
      range.textContent = text("strip.window", { first: sent.start, last: sent.stop - 1, total: sent.total });
      back.disabled = sent.start === 0;
      forth.disabled = sent.stop >= sent.total;
    },
    fetchWanted(state) {
      if (state.wanted === undefined) return;
      const size = state.parts.stop - state.parts.start;
      ask(Math.floor(state.wanted / size) * size);
    },
  };
}
