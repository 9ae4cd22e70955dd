// Heatmaps: token × dimension in panels below each other. Python lays them out; the numbers come from the store.
// The tab Heatmaps shows the parts, the tab What changed the differences: both are stacks with another source.

import { createAbsences } from "./absences.js";
import { plotlyScale, variable } from "./colours.js";
import { make } from "./dom.js";
import { createFigure, isNarrow, onPoint } from "./figure.js";
import { box, createOverlay, scaleOfAxes } from "./overlay.js";
import { createToolbar, ordered } from "./stacktools.js";
import { current, hover, limit, row, select, subscribe } from "./store.js";
import { createTip } from "./tip.js";
import { exact, signed, text } from "./words.js";

const TICKS = 16;
const NARROW_TICKS = 5;

/** Draws the Heatmaps tab into `element`. */
export function mountHeatmaps(element) {
  const root = element.querySelector(".ev-heatmaps");
  root.classList.add("ev-card");
  const stack = createStack({
    label: text("heatmaps.label"),
    spec: () => current().parts?.heatmap,
    row,
    name: (part) => text(`part.${part}`),
    limit: (axis) => limit(axis === "coloraxis2" ? "normalized" : "parts"),
    orders: () => [
      ["variance", text("heatmaps.order_variance"), current().parts.order.variance],
      ["change", text("changes.order_change"), current().parts.changes?.order],
    ],
    // The strip's scales reach over several panels: their bars stand at the top and at the bottom.
    bar: (axis) =>
      axis === "coloraxis2" ? { y: 0, yanchor: "bottom", len: 150, lenmode: "pixels" } : { y: 1, yanchor: "top", len: 190, lenmode: "pixels" },
  });
  const say = make("p", { class: "ev-say" });
  root.append(make("h2", { class: "ev-unseen" }, text("tab.heatmaps")), stack.toolbar, createAbsences(), stack.host, say);
  subscribe(["parts", "colours"], (state) => {
    stack.show(state);
    say.textContent = state.parts.sentences?.heatmap ?? "";
  });
}

/**
 * A stack of heatmaps with its toolbar. `source` says what is in it: `label`; `spec()`, the layout that Python made, or
 * null; `row(name, token)`, numbers; `name(part)`, what a panel is called; `limit(axis)`, the end of a colour range;
 * `orders()`, choices of another order of dimensions as [key, name, dimensions], those without dimensions left out;
 * `bar(axis)`, where a colour bar stands, if not where Python says.
 */
export function createStack(source) {
  const view = { source, order: "index", from: 0, count: 0, dims: [] };
  const host = make("div", { class: "ev-host" });
  const tip = createTip(host);
  const figure = createFigure(
    host,
    source.label,
    () => compose(view),
    () => {
      onPoint(figure, "click", (point) => point && select(cellAt(point, view)));
      onPoint(figure, "hover", (point, event) => showTip(tip, view, cellAt(point, view), event));
      onPoint(figure, "unhover", () => (tip.hide(), hover(null)));
      onPoint(figure, "relayout", () => frame(figure, overlay, view));
      frame(figure, overlay, view);
    },
  );
  const overlay = createOverlay(figure);
  const toolbar = createToolbar(view, figure.draw);
  subscribe(["selection", "hover"], () => frame(figure, overlay, view));
  return {
    toolbar: toolbar.element,
    host,
    show(state) {
      toolbar.show(state);
      figure.draw();
    },
  };
}

/** The dimension of every column that is drawn. */
function columns(view) {
  const all = ordered(view);
  return view.count ? all.slice(view.from, view.from + view.count) : all;
}

function compose(view) {
  const spec = view.source.spec();
  if (!spec) return null;
  view.dims = columns(view);
  const layout = structuredClone(spec.layout);
  const data = structuredClone(spec.data).map((trace) => (trace.z?.part ? fill(trace, view) : trace));
  for (const [name, axis] of Object.entries(layout)) {
    if (/^xaxis/.test(name)) Object.assign(axis, ticks(view), { range: [-0.5, view.dims.length - 0.5] });
    if (/^coloraxis/.test(name)) colour(axis, name, view.source);
  }
  if (isNarrow()) Object.assign(layout.margin, { l: 62, r: 4 });
  return { data, layout };
}

/** The numbers of one panel, in the order and the window of the moment. */
function fill(trace, view) {
  const { parts } = current();
  const name = trace.z.part;
  const all = !view.count && view.order === "index";
  trace.z = [];
  for (let token = parts.start; token < parts.stop; token++) {
    const values = view.source.row(name, token);
    trace.z.push(
      !values ? new Float32Array(view.dims.length) : all ? values : Float32Array.from(view.dims, (d) => values[d]),
    );
  }
  trace.hoverinfo = "none"; // our own box shows the exact number
  delete trace.hovertemplate;
  return trace;
}

function colour(axis, name, source) {
  const most = source.limit(name);
  Object.assign(axis, { colorscale: plotlyScale(), cmin: -most, cmax: most, cauto: false });
  // The strip's legend says the same; a narrow figure leaves the room to the numbers.
  axis.showscale = !isNarrow();
  Object.assign((axis.colorbar ??= {}), source.bar?.(name), dressedBar());
  if (axis.colorbar.title) axis.colorbar.title.font = { color: variable("mute"), size: 12 };
}

/** The look of a colour bar in the present theme. */
export const dressedBar = () => ({
  outlinewidth: 0,
  thickness: 10,
  nticks: 5,
  tickfont: { color: variable("mute"), size: 11 },
});

/** About sixteen dimensions are named below, whatever their order. */
function ticks(view) {
  const most = isNarrow() ? NARROW_TICKS : TICKS;
  const stride =
    [1, 2, 4, 8, 16, 24, 32, 48, 64, 128, 256, 512].find((each) => view.dims.length / each <= most) ?? 1024;
  const tickvals = view.dims.map((_, at) => at).filter((at) => at % stride === 0);
  return { tickmode: "array", tickvals, ticktext: tickvals.map((at) => String(view.dims[at])) };
}

/** The token and the dimension of a point of the figure. */
function cellAt(point, view) {
  const [tokenRow, column] = point.pointIndex ?? point.pointNumber;
  return { token: current().parts.start + tokenRow, dim: view.dims[column], part: point.data.meta ?? point.data.name };
}

function showTip(tip, { source }, { token, dim, part }, event) {
  const entry = current().parts.tokens[token];
  const value = source.row(part, token)?.[dim];
  hover(token);
  if (value === undefined) return tip.hide();
  tip.show(
    event,
    make("b", { class: `ev-ink-${part}` }, source.name(part)),
    ` ${signed(value)}`,
    make("small", {}, text("heatmaps.tip", { token, piece: entry.piece, dim, exact: exact(value) })),
  );
}

/** Frames the selected cell in every panel, and its token's row; more faintly the row under the pointer. */
function frame({ plot, drawn }, overlay, view) {
  if (!drawn || plot.offsetParent === null) return;
  const { token, dim, hovered } = current();
  const column = view.dims.indexOf(dim);
  const [ink, panel, mute] = [variable("ink"), variable("panel"), variable("mute")];
  const marks = [];
  for (const trace of plot.data) {
    const scale = scaleOfAxes(plot, trace.xaxis, trace.yaxis);
    if (!scale) continue;
    const row = (one, colour, width) =>
      box(scale, [scale.left, scale.y(one - 0.5)], [scale.right, scale.y(one + 0.5)], colour, width);
    if (hovered !== null && hovered !== token) marks.push(row(hovered, mute, 1));
    marks.push(row(token, ink, 1));
    if (column < 0) continue;
    const [middle, half] = [scale.x(column), Math.max(4, (scale.x(1) - scale.x(0)) / 2)];
    const corners = [
      [middle - half, scale.y(token - 0.5)],
      [middle + half, scale.y(token + 0.5)],
    ];
    marks.push(box(scale, ...corners, panel, 4), box(scale, ...corners, ink, 2));
  }
  overlay.draw(marks);
}
