// One cell: a token and a dimension, its five numbers, and the arithmetic that leads from one to the next.

import { make, piece } from "./dom.js";
import { PARTS, current, isChanged, row, rowBefore, select, subscribe } from "./store.js";
import { SIGNS } from "./columns.js";
import { cellSize, gridOf, paint, tileCanvas } from "./tile.js";
import { exact, plain, signed, text } from "./words.js";

const TILE_WIDTH = 192; // CSS pixels: a dimension is six of them wide, enough for a finger
const BESIDE = 108; // what sign and number need beside the tile

/** Draws the panel of the selected cell into `element`. */
export function mountCell(element) {
  const root = element.querySelector(".ev-cell");
  root.classList.add("ev-card", "ev-waiting");
  const title = make("h2");
  const place = make("span", { class: "ev-place" });
  const pickers = createPickers();
  const tiles = make("div", {
    class: "ev-tiles",
    role: "slider",
    tabindex: "0",
    "aria-label": text("cell.tiles"),
    "aria-valuemin": "0",
  });
  const calc = make("dl", { class: "ev-calc" });
  const say = make("p", { class: "ev-say" });
  const note = make("p", { class: "ev-note" });
  root.append(make("header", {}, title, place, note), pickers.element, tiles, calc, say);
  const view = { rows: {}, grid: null, size: 1, token: -1 };
  listenTo(tiles, view);

  subscribe(["parts"], (state) => {
    root.classList.remove("ev-waiting");
    buildTiles(tiles, view, state.parts);
    pickers.fill(state.parts);
    view.token = -1;
  });
  subscribe(["parts", "colours"], (state) => {
    for (const name in view.rows) if (view.rows[name].canvas) paint(view.rows[name].canvas, name, state.token);
  });
  subscribe(["parts", "selection"], (state) => {
    title.replaceChildren(piece(state.parts.tokens[state.token]));
    place.textContent = text("cell.place", { token: state.token, dim: state.dim });
    note.textContent = state.parts.tokens[state.token].note ?? "";
    pickers.show(state);
    showTiles(tiles, view, state);
    calc.replaceChildren(...arithmetic(state));
    say.textContent = gainSentence(state);
  });
}

/** A menu of tokens and a field for the dimension: the same choice without a mouse. */
function createPickers() {
  const token = make("select", { id: "embviz-pick-token", onchange: () => select({ token: Number(token.value) }) });
  const dim = make("input", { id: "embviz-pick-dim", type: "number", min: 0, step: 1, inputmode: "numeric" });
  dim.addEventListener("input", () => dim.value !== "" && dim.validity.valid && select({ dim: Number(dim.value) }));
  dim.addEventListener("blur", () => (dim.value = current().dim));
  const element = make(
    "div",
    { class: "ev-pickers" },
    make("label", { for: token.id }, text("cell.token")),
    token,
    make("label", { for: dim.id }, text("cell.dim")),
    dim,
  );
  return {
    element,
    fill(sent) {
      token.replaceChildren(
        ...sent.tokens.map((entry, index) => make("option", { value: index }, `${index} ${entry.piece}`)),
      );
      dim.max = sent.width - 1;
    },
    show(state) {
      token.value = state.token;
      if (document.activeElement !== dim || Number(dim.value) !== state.dim) dim.value = state.dim;
    },
  };
}

function buildTiles(tiles, view, sent) {
  view.grid = gridOf(sent.width);
  const room = Math.min(TILE_WIDTH, (tiles.clientWidth || TILE_WIDTH * 2) - BESIDE);
  view.size = cellSize(Math.max(room / view.grid.columns, 2));
  tiles.setAttribute("aria-valuemax", sent.width - 1);
  view.rows = Object.fromEntries(PARTS.map((name) => [name, buildRow(name, view, sent)]));
  tiles.replaceChildren(...Object.values(view.rows).map((one) => one.element));
}

/** One part of the cell: sign, large tile with the frame, number and where it comes from. */
function buildRow(name, view, sent) {
  const absent = sent.rows[name].absent;
  const value = make("b");
  const before = make("s", { title: text("whatif.was") });
  const source = make("code");
  const canvas = absent ? null : tileCanvas(view.grid, view.size);
  const frame = make("i", { class: "ev-frame" });
  const picture = make(
    "div",
    { class: "ev-picture" },
    ...(absent ? [make("p", { class: "ev-why" }, absent)] : [canvas, frame]),
  );
  const number = make(
    "div",
    { class: "ev-number" },
    make("small", { class: `ev-ink-${name}` }, text(`part.${name}`)),
    value,
    before,
  );
  const element = make(
    "div",
    { class: absent ? "ev-part ev-off" : "ev-part", "data-part": name },
    make("span", { class: "ev-sign" }, SIGNS[name]),
    picture,
    number,
    source,
  );
  return { element, canvas, frame, value, before, source };
}

function showTiles(tiles, view, state) {
  const { columns } = view.grid;
  for (const name of PARTS) {
    const { canvas, frame, value, before, source } = view.rows[name];
    const was = isChanged(name, state.token) ? rowBefore(name, state.token)[state.dim] : null;
    before.textContent = was === null ? "" : signed(was);
    if (!canvas) continue;
    if (view.token !== state.token) paint(canvas, name, state.token);
    frame.style.cssText = `left:${(state.dim % columns) * view.size}px;top:${Math.floor(state.dim / columns) * view.size}px;width:${view.size}px;height:${view.size}px`;
    setNumber(value, valueAt(name, state));
    source.textContent = sourceOf(name, state);
  }
  view.token = state.token;
  tiles.setAttribute("aria-valuenow", state.dim);
  const spoken = PARTS.map((name) => [name, valueAt(name, state)]).filter(([, number]) => number !== null);
  tiles.setAttribute(
    "aria-valuetext",
    [text("cell.place", state), ...spoken.map(([name, number]) => `${text(`part.${name}`)} ${signed(number)}`)].join(
      ", ",
    ),
  );
}

function setNumber(element, number, shown = signed(number)) {
  element.textContent = shown;
  element.title = exact(number);
}

const valueAt = (name, state) => row(name, state.token)?.[state.dim] ?? null;

/** The entry of the checkpoint that a number was read from; a sum was read from nowhere. */
function sourceOf(name, { parts, token, dim }) {
  const tensor = parts.tensors?.[name];
  const entry = parts.tokens[token];
  const index = { token: entry.id, segment: entry.segment, position: entry.position }[name];
  return tensor && index !== undefined ? madeOf(name, { tensor, index, dim }, parts.recipe.what_if) : "";
}

/** The entry, or what a what-if made of it: rows that were mixed, and a factor. */
function madeOf(name, { tensor, index, dim }, changes) {
  const product = (numbers) => numbers.reduce((one, other) => one * other, 1);
  const of = (type) => changes.filter((change) => change.type === type);
  const k = product([...of("ScaleSegmentDifference").map((change) => change.k), ...of("MeanSegments").map(() => 0)]);
  const factor = product(of("Scale").filter((change) => change.component === name).map((change) => change.factor));
  let source = `${tensor}[${index}, ${dim}]`;
  if (name === "segment" && k !== 1 && index < 2)
    source = text(k === 0 ? "cell.source_mean" : "cell.source_difference", { tensor, index, dim, k });
  return factor === 1 ? source : text("cell.source_factor", { factor, source });
}

/** The rows from the sum to the LayerNorm, every operand a number that the server sent; with what it was before. */
function arithmetic(state) {
  const { parts, dim } = state;
  const before = parts.what_if?.before;
  const now = operands(parts, row("summed", state.token), row("normalized", state.token), state);
  const was = before ? operands(before, rowBefore("summed", state.token), rowBefore("normalized", state.token), state) : null;
  if (!now) {
    const last = was ? [line(text("part.normalized"), null, signed, "", "ev-total", was.result)] : [];
    return [line(parts.rows.normalized.absent ?? text("cell.no_norm"), null), ...last, ...projected(parts)];
  }
  const entry = (tensor) => (tensor ? `${tensor}[${dim}]` : "");
  const both = (name, key, format, ...more) => line(name, now[key], format, more[0], more[1], was?.[key]);
  return [
    both(text("cell.mean"), "mean", signed),
    both(text("cell.std", { eps: parts.eps }), "std", plain),
    both(text("cell.scaled"), "scaled", signed),
    both(text("cell.weight", { dim: subscript(dim) }), "weight", plain, entry(parts.tensors?.weight)),
    both(text("cell.bias", { dim: subscript(dim) }), "bias", signed, entry(parts.tensors?.bias)),
    both(text("part.normalized"), "result", signed, "", "ev-total"),
    ...projected(parts),
  ];
}

/** What the LayerNorm does to one number; null where there is none. */
function operands({ mean, std, weight, bias }, summed, normalized, { parts, token, dim }) {
  if (!normalized || !weight) return null;
  const at = token - parts.start;
  // One rounding to float32 a step, as the model itself rounds.
  const scaled = Math.fround(Math.fround(summed[dim] - mean[at]) / std[at]);
  return { mean: mean[at], std: std[at], scaled, weight: weight[dim], bias: bias ? bias[dim] : 0, result: normalized[dim] };
}

/** What happens after the sum where the encoder is of another width. */
function projected({ model, tensors }) {
  if (!tensors?.after_weight) return [];
  return [line(text("cell.projected", { size: model.hidden_size }), null, null, tensors.after_weight)];
}

function line(name, number, format, source = "", kind = null, was = undefined) {
  const value = make("dd");
  if (number !== null) setNumber(value, number, format(number));
  if (was !== undefined && was !== null && !Object.is(was, number)) value.prepend(make("s", { title: text("whatif.was") }, format(was)));
  const term = make(
    "dt",
    {},
    kind ? make("i", { class: "ev-dot ev-normalized" }) : null,
    name,
    source ? make("code", {}, source) : null,
  );
  return make("div", { class: kind }, term, value);
}

const subscript = (number) => String(number).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);

function gainSentence({ parts, dim }) {
  if (!parts.weight) return "";
  const average = parts.weight.reduce((sum, gain) => sum + gain, 0) / parts.weight.length;
  return text("cell.gain", { dim, gain: plain(parts.weight[dim], 2), average: plain(average, 2) });
}

function listenTo(tiles, view) {
  const pick = (event) => {
    const picture = event.target.closest?.(".ev-picture");
    if (!picture || !picture.querySelector("canvas")) return;
    const box = picture.getBoundingClientRect();
    const column = Math.min(view.grid.columns - 1, Math.floor((event.clientX - box.left) / view.size));
    const dim = Math.floor((event.clientY - box.top) / view.size) * view.grid.columns + column;
    if (column >= 0 && dim >= 0 && dim < current().parts.width) select({ dim });
  };
  tiles.addEventListener("click", pick);
  tiles.addEventListener("pointermove", (event) => event.buttons === 1 && event.pointerType === "mouse" && pick(event));
  tiles.addEventListener("keydown", (event) => {
    const { dim, parts } = current();
    const columns = view.grid.columns;
    const target = {
      ArrowLeft: dim - 1,
      ArrowRight: dim + 1,
      ArrowUp: dim - columns,
      ArrowDown: dim + columns,
      Home: 0,
      End: parts.width - 1,
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    if (target >= 0 && target < parts.width) select({ dim: target });
  });
}
