// The controls of the what-if: menus, sliders and fields that edit the Recipe's list of changes (whatif.js).

import { make, menu, tick } from "./dom.js";
import { current, subscribe } from "./store.js";
import { POSITION_MODES, SEGMENT_MODES, changes, connect, isUnderWay, refusal, replace, reset } from "./whatif.js";
import { text } from "./words.js";

const SLIDER_SHIFT = 64; // positions that the slider reaches; the field beside it reaches all
const SLIDER_FACTOR = 3;
const SLIDER_DIFFERENCE = 10;

/** Draws the controls into `element`. */
export function mountWhatIf(element, gradio) {
  const root = element.querySelector(".ev-whatif");
  const controls = [segments(), difference(), positions(), ...["token", "segment", "position"].map(factor), norm(), dropout(), piece()];
  const clear = make("button", { type: "button", class: "ev-reset", onclick: reset }, text("whatif.reset"));
  const title = make("summary", {}, make("h2", {}, text("whatif.title")));
  const fold = make("details", { open: matchMedia("(min-width: 761px)").matches }, title, ...controls.map((one) => one.element), clear);
  root.append(fold);
  const refresh = () => {
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
  connect(gradio, refresh);
  subscribe(["parts", "selection"], () => isUnderWay() || refresh());
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
    show(_, find) {
      slider.set(find(["ScaleSegmentDifference"])?.k ?? 1);
      if (find(["MeanSegments"])) slider.disable(); // a mean has no difference left
    },
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
      eps.disabled ||= Boolean(refusal("LayerNormEps") || find(["NoLayerNorm"]));
    },
  };
}

function dropout() {
  const mine = (one) => one.type === "Dropout";
  const put = () => replace(mine, on.input.checked ? { type: "Dropout", p: p.valueAsNumber || 0, seed: seed.valueAsNumber || 0 } : null);
  const on = tick(text("whatif.dropout"), put, text("whatif.dropout_hint"));
  const p = make("input", { type: "number", min: 0, max: 1, step: "any", value: 0.1, "aria-label": text("whatif.p"), onchange: () => on.input.checked && put() });
  const seed = make("input", { type: "number", min: 0, max: 4294967295, step: 1, value: 0, "aria-label": text("whatif.seed"), onchange: () => on.input.checked && put() });
  const fields = [["whatif.p", p], ["whatif.seed", seed]].map(([key, input]) => make("label", { class: "ev-field" }, make("span", {}, text(key)), input));
  return {
    kinds: [],
    element: make("div", { class: "ev-control ev-line" }, on.field, ...fields),
    show() {
      const change = changes().find(mine);
      on.input.checked = Boolean(change);
      p.disabled = seed.disabled = !change;
      [p.value, seed.value] = [change?.p ?? 0.1, change?.seed ?? 0];
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
    const number = input.value === "" ? value : nearest(Number(input.value));
    if (number === value) return (input.value = value); // whatever was typed, what is shown is in force
    set(number);
    onchange(value);
  };
  const nearest = (number) => Math.min(Math.max(step < 1 ? number : Math.round(number), Number(field.min)), Number(field.max));
  const set = (number) => {
    value = number;
    if (document.activeElement !== range || Number(range.value) !== number) range.value = number;
    if (document.activeElement !== field || Number(field.value) !== number) field.value = number;
  };
  range.addEventListener("input", () => take(range));
  field.addEventListener("change", () => take(field));
  return {
    element: make("div", { class: "ev-slider" }, name, range, field),
    set,
    disable: () => (range.disabled = field.disabled = true),
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
