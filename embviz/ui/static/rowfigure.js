// A figure with one row a token: whatever is clicked or pointed at in a row is that token, and its row is framed.

import { variable } from "./colours.js";
import { make } from "./dom.js";
import { createFigure, isNarrow, onPoint } from "./figure.js";
import { box, createOverlay, scaleOfAxes } from "./overlay.js";
import { current, hover, select, subscribe } from "./store.js";
import { createTip } from "./tip.js";

const NARROW_MARGIN = 74;

/**
 * The figure; `spec()` gives what Python laid out, or null; `dress(trace, layout)` colours a trace for the theme;
 * `tell(point)` gives the children of the box beside the pointer, or null for none.
 */
export function createRowFigure(label, { spec, dress, tell }) {
  const host = make("div", { class: "ev-host" });
  const tip = createTip(host);
  const compose = () => {
    const made = spec();
    if (!made) return null;
    const [data, layout] = [structuredClone(made.data), structuredClone(made.layout)];
    for (const trace of data) {
      if (trace.hovertemplate) Object.assign(trace, { hoverinfo: "none", hovertemplate: undefined });
      dress(trace, layout);
    }
    // Dragging and scrolling belong to the page: rows are as large as they can be.
    for (const [name, axis] of Object.entries(layout)) if (/^[xy]axis/.test(name)) axis.fixedrange = true;
    if (isNarrow()) Object.assign(layout.margin, { l: NARROW_MARGIN, r: 6 });
    return { data, layout };
  };
  const figure = createFigure(host, label, compose, () => {
    onPoint(figure, "click", (point) => isToken(point) && select({ token: tokenOf(point) }));
    onPoint(figure, "hover", (point, event) => {
      if (!point) return;
      if (isToken(point)) hover(tokenOf(point));
      const told = tell(point);
      if (told) tip.show(event, ...told);
      else tip.hide();
    });
    onPoint(figure, "unhover", () => (tip.hide(), hover(null)));
    onPoint(figure, "relayout", () => frame(figure, overlay));
    frame(figure, overlay);
  });
  const overlay = createOverlay(figure);
  subscribe(["selection", "hover"], () => frame(figure, overlay));
  return { host, draw: figure.draw };
}

const isToken = (point) => point && (point.data.yaxis ?? "y") === "y" && Number.isInteger(point.y);
const tokenOf = (point) => point.y;

/** Frames the rows of the selected and of the hovered token in every panel. */
function frame({ plot, drawn }, overlay) {
  if (!drawn || plot.offsetParent === null) return;
  const { token, hovered } = current();
  const marks = [];
  for (const across of new Set(plot.data.filter(hasRows).map((trace) => trace.xaxis ?? "x"))) {
    const scale = scaleOfAxes(plot, across, "y");
    if (!scale) continue;
    for (const one of hovered === null || hovered === token ? [token] : [hovered, token]) {
      const [top, bottom] = [scale.y(one - 0.5), scale.y(one + 0.5)];
      if (bottom <= scale.top || top >= scale.bottom) continue;
      marks.push(box(scale, [scale.left, top], [scale.right, bottom], variable(one === token ? "ink" : "mute"), 1));
    }
  }
  overlay.draw(marks);
}

const hasRows = (trace) => (trace.yaxis ?? "y") === "y";
