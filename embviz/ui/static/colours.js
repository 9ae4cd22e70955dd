// Colours: who a part is (Okabe and Ito, from CSS variables) and what a value is (Crameri's vik and berlin).

import { changed } from "./store.js";

// Seventeen points of each scale, dark ends outside; the ninth is zero. Fabio Crameri, Scientific colour maps, MIT.
const VIK = [
  [0, 18, 97],
  [2, 43, 113],
  [3, 68, 129],
  [12, 94, 146],
  [47, 124, 166],
  [96, 157, 188],
  [146, 189, 210],
  [197, 219, 229],
  [236, 229, 225],
  [233, 203, 185],
  [220, 171, 143],
  [207, 142, 104],
  [195, 114, 67],
  [179, 83, 31],
  [147, 46, 6],
  [116, 21, 6],
  [89, 0, 8],
];
const BERLIN = [
  [158, 176, 255],
  [121, 171, 237],
  [82, 159, 211],
  [54, 134, 173],
  [40, 104, 134],
  [29, 75, 97],
  [20, 49, 63],
  [17, 26, 32],
  [25, 12, 9],
  [42, 14, 1],
  [64, 18, 1],
  [90, 28, 7],
  [124, 51, 29],
  [156, 80, 61],
  [188, 110, 97],
  [221, 141, 134],
  [255, 173, 173],
];

const STEPS = 512; // an even number of steps has one of them exactly in the middle

const palettes = { light: palette(VIK), dark: palette(BERLIN) };

/** Whether the page is dark at the moment. */
export const isDark = () => document.body.classList.contains("dark");

/** The 513 colours of the present theme as packed RGBA; the middle one is zero. */
export const valueColours = () => palettes[isDark() ? "dark" : "light"];

/** The place of a value on that scale. */
export function step(value, limit) {
  const t = (value / limit + 1) * (STEPS / 2);
  return t <= 0 ? 0 : t >= STEPS ? STEPS : Math.round(t);
}

/** The scale as Plotly wants it. */
export function plotlyScale() {
  const anchors = isDark() ? BERLIN : VIK;
  return anchors.map((rgb, i) => [i / (anchors.length - 1), `rgb(${rgb.join(",")})`]);
}

/** The scale as a CSS gradient, for the legend. */
export function gradient() {
  return `linear-gradient(90deg, ${(isDark() ? BERLIN : VIK).map((rgb) => `rgb(${rgb.join(" ")})`).join(", ")})`;
}

/** The value of one of our CSS variables in the present theme, e.g. `variable("token")`. */
export function variable(name) {
  return getComputedStyle(document.body).getPropertyValue(`--ev-${name}`).trim();
}

/** Tells the views when the page turns dark or light. */
export function watchTheme() {
  let dark = isDark();
  new MutationObserver(() => {
    if (dark === isDark()) return;
    dark = isDark();
    changed("colours");
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
}

function palette(anchors) {
  const packed = new Uint32Array(STEPS + 1);
  for (let i = 0; i <= STEPS; i++) {
    const t = (i / STEPS) * (anchors.length - 1);
    const low = Math.min(anchors.length - 2, Math.floor(t));
    const [r, g, b] = [0, 1, 2].map((c) =>
      Math.round(anchors[low][c] + (t - low) * (anchors[low + 1][c] - anchors[low][c])),
    );
    packed[i] = (255 << 24) | (b << 16) | (g << 8) | r; // little-endian RGBA, as canvas data has it
  }
  return packed;
}
