// The legend of the strip: which colour is which number, how many cells are beyond it, and what holds the scale.

import { gradient } from "./colours.js";
import { make, tick } from "./dom.js";
import { PARTS, clipped, current, limit, scaleOf, setScale } from "./store.js";
import { plain, signed, text } from "./words.js";

/** The legend; `show` fills it for the numbers and the theme of the moment. */
export function createLegend() {
  const bars = { parts: createBar("parts"), normalized: createBar("normalized") };
  const full = tick(
    text("legend.full"),
    (on) => setScale({ range: on ? "full" : "quantile" }),
    text("legend.full_hint"),
  );
  const lock = tick(text("legend.lock"), (on) => setScale({ lock: on }), text("legend.lock_hint"));
  const pixel = make("span", { class: "ev-pixel" });
  const choices = make("span", { class: "ev-choices" }, full.field, lock.field);
  const element = make("div", { class: "ev-legend" }, bars.parts.element, bars.normalized.element, pixel, choices);
  return {
    element,
    show(state) {
      for (const scale in bars) bars[scale].show(scale);
      full.input.checked = state.range === "full";
      full.input.disabled = state.locked !== null;
      lock.input.checked = state.locked !== null;
      pixel.textContent = text("legend.pixel", { width: state.parts.width });
    },
  };
}

function createBar(scale) {
  const [low, high] = [make("span"), make("span")];
  const bar = make("span", { class: "ev-bar", "aria-hidden": "true" });
  const beyond = make("small");
  const element = make("span", { class: "ev-scale" }, make("b", {}, text(`legend.${scale}`)), low, bar, high, beyond);
  return { element, show: () => showBar(scale, { element, low, high, bar, beyond }) };
}

function showBar(scale, { element, low, high, bar, beyond }) {
  const sent = current().parts;
  const present = PARTS.some((name) => scaleOf(name) === scale && !sent.rows[name].absent);
  element.hidden = !present || !sent.scale[scale];
  if (element.hidden) return;
  const most = limit(scale);
  low.textContent = signed(-most, 2);
  high.textContent = signed(most, 2);
  bar.style.background = gradient();
  const count = clipped(scale);
  beyond.textContent = count ? text("legend.beyond", { count: count.toLocaleString("en") }) : "";
  element.title = text("legend.range", { min: plain(sent.scale[scale].min), max: plain(sent.scale[scale].max) });
}
