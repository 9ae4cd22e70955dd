// A tile: one vector as a small picture, one pixel a dimension, the same place for the same dimension everywhere.

import { step, valueColours } from "./colours.js";
import { make } from "./dom.js";
import { limit, row, rowBefore, scaleOf } from "./store.js";

const ASPECT = 8 / 3; // 384 = 32 × 12, the shape that the eye gets used to

/** The grid for a number of dimensions: exactly filled where the number has fitting divisors, else the last row has blanks. */
export function gridOf(width) {
  let best = null;
  for (let w = 1; w <= width; w++) {
    if (width % w) continue;
    const distance = Math.abs(Math.log((w * w) / width / ASPECT));
    if (!best || distance < best.distance) best = { columns: w, rows: width / w, distance };
  }
  if (best.distance < Math.log(2.2)) return best;
  const columns = Math.ceil(Math.sqrt(width * ASPECT));
  return { columns, rows: Math.ceil(width / columns) };
}

/** The size of a grid's cell in CSS pixels, such that it covers whole pixels of the screen. */
export function cellSize(wanted) {
  const ratio = window.devicePixelRatio || 1;
  return Math.max(1, Math.round(wanted * ratio)) / ratio;
}

/** An empty canvas for a tile of this grid. */
export function tileCanvas(grid, size) {
  const canvas = make("canvas", { class: "ev-tile", width: grid.columns, height: grid.rows, "aria-hidden": "true" });
  canvas.style.width = `${grid.columns * size}px`;
  canvas.style.height = `${grid.rows * size}px`;
  return canvas;
}

/** Paints one part of one token; nothing where the part is absent. */
export const paint = (canvas, part, token) => paintValues(canvas, row(part, token), limit(scaleOf(part)));

/** Paints what one part of one token was before the changes. */
export const paintBefore = (canvas, part, token) =>
  paintValues(canvas, rowBefore(part, token), limit(scaleOf(part)));

/** Paints any vector on a scale that ends at `most`; nothing where there is none. */
export function paintValues(canvas, values, most) {
  const context = canvas.getContext("2d");
  if (!values) return context.clearRect(0, 0, canvas.width, canvas.height);
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = valueColours();
  // What is no number stays transparent, and the hatching behind it shows.
  for (let d = 0; d < values.length; d++) pixels[d] = colours[step(values[d], most)] ?? 0;
  canvas.classList.toggle("ev-gaps", values.some(Number.isNaN));
  context.putImageData(image, 0, 0);
}
