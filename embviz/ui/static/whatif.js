// What if: the changes of the Recipe as controls. The Recipe's own list is what counts; a control edits the list, and
// what comes back from the server says what the controls show. One question at a time is under way, and the last
// state of a slider that moved meanwhile follows it.

import { make, menu, tick } from "./dom.js";
import { current, query, subscribe } from "./store.js";
import { text } from "./words.js";

const SEGMENT_MODES = ["SwapSegments", "AllSegments", "MeanSegments", "SetSegments"];
const POSITION_MODES = ["ShiftPositions", "ReversePositions", "ShufflePositions", "ConstantPosition", "SetPositions"];
const LOCAL = ["FlipSegment", "MovePosition", "ReplaceToken", "SetSegments", "SetPositions"];
const SLIDER_SHIFT = 64; // positions that the slider reaches; the field beside it reaches all
const SLIDER_FACTOR = 3;
const SLIDER_DIFFERENCE = 10;

let gradio = null;
let wanted = null; // the list that was asked for last and is not on the page yet
let under = false; // whether a question is under way
let again = false; // whether `wanted` has changed since it was asked
let refresh = () => {};

/** The changes of the moment, as in the Recipe's JSON: those on the page, or those that were asked for. */
export const changes = () => wanted ?? current().parts?.recipe?.what_if ?? [];

/** What stays for the next input: all changes for the same sentences, those of no token in particular for others. */
export function carried(sentences, pair) {
  const recipe = current().parts?.recipe;
  const same = recipe && sentences === recipe.text && (pair?.trim() ? pair : null) === recipe.text_pair;
  return same ? changes() : changes().filter((change) => !LOCAL.includes(change.type));
}

/** Why a kind of change means nothing for this model, or undefined. */
export const refusal = (kind) => current().parts?.what_if?.refused[kind];

/** The token goes to the other segment, or back. */
export function flipSegment(index) {
  if (refusal("FlipSegment")) return;
  const flipped = changes().some((change) => change.type === "FlipSegment" && change.index === index);
  replace((change) => change.type === "FlipSegment" && change.index === index, flipped ? null : { type: "FlipSegment", index });
}

/** The token gets another row of the position table; its own row takes the change back. */
export function movePosition(index, position) {
  if (refusal("MovePosition")) return;
  const mine = (change) => change.type === "MovePosition" && change.index === index;
  const others = changes().some((change) => POSITION_MODES.includes(change.type));
  const own = current().parts.what_if.before?.tokens[index].position ?? current().parts.tokens[index].position;
  replace(mine, position === own && !others ? null : { type: "MovePosition", index, position });
}

/** Takes one change back. */
export const takeBack = (at) => send(changes().filter((_, index) => index !== at));

/** Takes all changes back. */
export const reset = () => send([]);

/** A question about changes was answered, one way or the other. */
export function changesAnswered() {
  under = false;
  if (again) return ask();
  wanted = null;
  refresh();
}

/** Puts a change where the first that matches stood, or at the end; with null it is only taken away. */
function replace(matches, change) {
  const list = changes();
  const at = list.findIndex(matches);
  const kept = list.filter((one) => !matches(one));
  if (change) kept.splice(at < 0 ? kept.length : at, 0, change);
  send(kept);
}

function send(list) {
  wanted = list;
  if (under) again = true;
  else ask();
}

function ask() {
  again = false;
  under = true;
  window.embviz.busy();
  gradio.trigger("change", { query: query(), what_if: wanted, start: current().parts.start });
}

/** Draws the controls into `element`. */
export function mountWhatIf(element, component) {
  gradio = component;
  const root = element.querySelector(".ev-whatif");
  const controls = [segments(), difference(), positions(), ...["token", "segment", "position"].map(factor), norm(), dropout(), piece()];
  const clear = make("button", { type: "button", class: "ev-reset", onclick: reset }, text("whatif.reset"));
  const title = make("summary", {}, make("h2", {}, text("whatif.title")));
  const fold = make("details", { open: matchMedia("(min-width: 761px)").matches }, title, ...controls.map((one) => one.element), clear);
  root.append(fold);
  refresh = () => {
    const { parts } = current();
    if (!parts?.what_if) return;
    for (const control of controls) {
      const reason = control.kinds.map(refusal).find(Boolean);
      control.element.classList.toggle("ev-refused", Boolean(reason));
      control.element.title = reason ?? "";
      for (const field of control.element.querySelectorAll("input, select, button")) field.disabled = Boolean(reason);
      control.show(parts, (kinds) => changes().find((change) => kinds.includes(change.type)));
    }
    clear.disabled = !changes().length;
  };
  subscribe(["parts", "selection"], () => under || refresh());
}

function segments() {
  const modes = ["none", "swap", "all_a", "all_b", "mean"];
  const choice = menu(text("whatif.segments"), modes.map((key) => [key, text(`whatif.segments_${key}`)]), (key) => {
    const change = { swap: { type: "SwapSegments" }, all_a: { type: "AllSegments", k: 0 }, all_b: { type: "AllSegments", k: 1 }, mean: { type: "MeanSegments" } }[key];
    replace((one) => SEGMENT_MODES.includes(one.type), change ?? null);
  });
  return {
    kinds: ["SwapSegments"],
    element: make("div", { class: "ev-control" }, choice.field),
    show(_, find) {
      const change = find(SEGMENT_MODES);
      const key = { SwapSegments: "swap", MeanSegments: "mean", AllSegments: change?.k === 1 ? "all_b" : "all_a" }[change?.type];
      choice.select.value = key ?? "none";
    },
  };
}

function difference() {
  const slider = createSlider(text("whatif.difference"), { min: 0, max: SLIDER_DIFFERENCE, step: 0.5 }, (k) =>
    replace((one) => one.type === "ScaleSegmentDifference", k === 1 ? null : { type: "ScaleSegmentDifference", k }),
  );
  return {
    kinds: ["ScaleSegmentDifference"],
    element: slider.element,
    show: (_, find) => slider.set(find(["ScaleSegmentDifference"])?.k ?? 1),
  };
}

function positions() {
  const ofMode = { shift: "ShiftPositions", reverse: "ReversePositions", shuffle: "ShufflePositions", same: "ConstantPosition" };
  const choice = menu(text("whatif.positions"), Object.keys(ofMode).map((key) => [key, text(`whatif.positions_${key}`)]), () => put(start()));
  const slider = createSlider(text("whatif.by"), { min: 0, max: 1, step: 1 }, () => put(slider.value()));
  const keep = tick(text("whatif.keep"), () => put(slider.value()), text("whatif.keep_hint"));
  const start = () => ({ shift: 0, reverse: 0, shuffle: 0, same: current().parts.tokens[0].position })[choice.select.value];
  const put = (value) => {
    const keep_first = keep.input.checked;
    const change = {
      shift: { type: "ShiftPositions", k: value, keep_first },
      reverse: { type: "ReversePositions", keep_first },
      shuffle: { type: "ShufflePositions", seed: value, keep_first },
      same: { type: "ConstantPosition", k: value },
    }[choice.select.value];
    const nothing = change.type === "ShiftPositions" && value === 0;
    if (nothing) arrange(current().parts, null);
    replace((one) => POSITION_MODES.includes(one.type), nothing ? null : change);
  };
  /** What the slider means depends on the mode: how far, which order, which row. */
  const arrange = (parts, change) => {
    const mode = choice.select.value;
    const [least, most] = { shift: parts.what_if[keep.input.checked ? "shift_kept" : "shift"] ?? [0, 0], shuffle: [0, 999], same: [0, (parts.what_if.rows ?? 1) - 1] }[mode] ?? [0, 0];
    slider.name(text(`whatif.by_${mode === "reverse" ? "shift" : mode}`));
    slider.limits(least, most, mode === "shift" ? Math.min(most, SLIDER_SHIFT) : Math.min(most, mode === "shuffle" ? 20 : most));
    slider.set(change?.k ?? change?.seed ?? 0);
    slider.element.hidden = mode === "reverse";
    keep.field.hidden = mode === "same";
  };
  return {
    kinds: ["ShiftPositions"],
    element: make("div", { class: "ev-control" }, choice.field, slider.element, keep.field),
    show(parts, find) {
      const change = find(POSITION_MODES);
      const mode = Object.keys(ofMode).find((key) => ofMode[key] === change?.type);
      if (mode) choice.select.value = mode;
      else if (!["shift"].includes(choice.select.value)) choice.select.value = "shift";
      if (change && "keep_first" in change) keep.input.checked = change.keep_first;
      arrange(parts, change);
    },
  };
}

function factor(component) {
  const mine = (one) => one.type === "Scale" && one.component === component;
  const slider = createSlider(text("whatif.factor", { part: text(`part.${component}`) }), { min: 0, max: SLIDER_FACTOR, step: 0.1 }, (factor) =>
    replace(mine, factor === 1 ? null : { type: "Scale", component, factor }),
  );
  slider.element.prepend(make("i", { class: `ev-dot ev-${component}` }));
  slider.limits(-100, 100, SLIDER_FACTOR, 0);
  return { kinds: [`Scale.${component}`], element: slider.element, show: () => slider.set(changes().find(mine)?.factor ?? 1) };
}

function norm() {
  const on = tick(text("part.normalized"), (checked) => replace((one) => one.type === "NoLayerNorm", checked ? null : { type: "NoLayerNorm" }));
  const eps = make("input", { type: "text", inputmode: "decimal", size: 7, "aria-label": text("whatif.eps") });
  eps.addEventListener("change", () => {
    const value = Number(eps.value);
    const own = value === current().parts.model.layer_norm_eps || eps.value.trim() === "";
    replace((one) => one.type === "LayerNormEps", own ? null : { type: "LayerNormEps", eps: Number.isNaN(value) ? eps.value : value });
  });
  return {
    kinds: ["NoLayerNorm"],
    element: make("div", { class: "ev-control ev-line" }, on.field, make("label", { class: "ev-field" }, make("span", {}, text("whatif.eps")), eps)),
    show(parts, find) {
      on.input.checked = !find(["NoLayerNorm"]) && !refusal("NoLayerNorm");
      eps.value = find(["LayerNormEps"])?.eps ?? parts.model.layer_norm_eps ?? "";
      eps.disabled ||= Boolean(refusal("LayerNormEps"));
    },
  };
}

function dropout() {
  const mine = (one) => one.type === "Dropout";
  const put = () => replace(mine, on.input.checked ? { type: "Dropout", p: p.valueAsNumber || 0, seed: seed.valueAsNumber || 0 } : null);
  const on = tick(text("whatif.dropout"), put, text("whatif.dropout_hint"));
  const p = make("input", { type: "number", min: 0, max: 1, step: 0.05, value: 0.1, "aria-label": text("whatif.p"), onchange: () => on.input.checked && put() });
  const seed = make("input", { type: "number", min: 0, max: 4294967295, step: 1, value: 0, "aria-label": text("whatif.seed"), onchange: () => on.input.checked && put() });
  const fields = [["whatif.p", p], ["whatif.seed", seed]].map(([key, input]) => make("label", { class: "ev-field" }, make("span", {}, text(key)), input));
  return {
    kinds: [],
    element: make("div", { class: "ev-control ev-line" }, on.field, ...fields),
    show() {
      const change = changes().find(mine);
      on.input.checked = Boolean(change);
      if (change) [p.value, seed.value] = [change.p, change.seed];
    },
  };
}

function piece() {
  const input = make("input", { type: "text", "aria-label": text("whatif.piece"), autocomplete: "off", spellcheck: "false" });
  const name = make("span");
  input.addEventListener("change", () => {
    const index = current().token;
    const put = input.value.trim();
    replace((one) => one.type === "ReplaceToken" && one.index === index, put ? { type: "ReplaceToken", index, piece: put } : null);
  });
  return {
    kinds: ["ReplaceToken"],
    element: make("div", { class: "ev-control" }, make("label", { class: "ev-field ev-wide" }, name, input)),
    show({ tokens, what_if }) {
      const { token } = current();
      const change = changes().find((one) => one.type === "ReplaceToken" && one.index === token);
      name.textContent = text("whatif.replace", { piece: (what_if.before?.tokens ?? tokens)[token].piece, index: token });
      if (document.activeElement !== input) input.value = change?.piece ?? "";
    },
  };
}

/** A slider with a field for the exact number beside it. */
function createSlider(label, { min, max, step }, onchange) {
  const range = make("input", { type: "range", min, max, step, "aria-label": label });
  const field = make("input", { type: "number", min, max, step: step < 1 ? "any" : step, "aria-label": label });
  const name = make("span", {}, label);
  let value = min;
  const take = (input) => {
    if (input.value === "" || !input.validity.valid || Number(input.value) === value) return;
    set(Number(input.value));
    onchange(value);
  };
  const set = (number) => {
    value = number;
    if (document.activeElement !== range || Number(range.value) !== number) range.value = number;
    if (document.activeElement !== field || Number(field.value) !== number) field.value = number;
  };
  range.addEventListener("input", () => take(range));
  field.addEventListener("change", () => (field.validity.valid ? take(field) : field.reportValidity()));
  return {
    element: make("div", { class: "ev-slider" }, name, range, field),
    set,
    value: () => value,
    name(content) {
      name.textContent = content;
      for (const input of [range, field]) input.setAttribute("aria-label", content);
    },
    limits(least, most, slides = most, from = Math.max(least, -SLIDER_SHIFT)) {
      [range.min, range.max, field.min, field.max] = [from, slides, least, most];
    },
  };
}
