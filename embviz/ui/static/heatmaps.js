// Heatmaps: token × dimension for every part. Python lays them out; the numbers come from the store.

import { createAbsences } from "./absences.js";
import { plotlyScale, variable } from "./colours.js";
import { make, menu, tick } from "./dom.js";
import { createFigure, isNarrow, onPoint } from "./figure.js";
import { box, createOverlay, scaleOfAxes } from "./overlay.js";
import { current, hover, limit, row, scaleOf, select, setScale, subscribe } from "./store.js";
import { exact, signed, text } from "./words.js";

const TICKS = 16;
const NARROW_TICKS = 5;

/** Draws the Heatmaps tab into `element`. */
export function mountHeatmaps(element) {
  const root = element.querySelector(".ev-heatmaps");
  root.classList.add("ev-card");
  const view = { order: "index", from: 0, count: 0, dims: [] };
  const host = make("div", { class: "ev-host" });
  const tip = make("div", { class: "ev-tip", hidden: true });
  const say = make("p", { class: "ev-say" });
  host.append(tip);
  const figure = createFigure(
    host,
    text("heatmaps.label"),
    () => compose(view),
    () => {
      onPoint(figure, "click", (point) => point && select(cellAt(point, view)));
      onPoint(figure, "hover", (point, event) => showTip(tip, host, cellAt(point, view), event));
      onPoint(figure, "unhover", () => hideTip(tip));
      onPoint(figure, "relayout", () => frame(figure, overlay, view));
      frame(figure, overlay, view);
    },
  );
  const overlay = createOverlay(figure);
  const toolbar = createToolbar(view, figure.draw);
  root.append(make("h2", { class: "ev-unseen" }, text("tab.heatmaps")), toolbar.element, createAbsences(), host, say);
  subscribe(["parts", "colours"], (state) => {
    toolbar.show(state);
    say.textContent = state.parts.sentences?.heatmap ?? "";
    figure.draw();
  });
  subscribe(["selection", "hover"], () => frame(figure, overlay, view));
}

/** Order and window of the dimensions, and the range of the colours. */
function createToolbar(view, draw) {
  const order = menu(
    text("heatmaps.order"),
    [
      ["index", text("heatmaps.order_index")],
      ["variance", text("heatmaps.order_variance")],
    ],
    (value) => {
      view.order = value;
      draw();
    },
  );
  const zoom = menu(
    text("heatmaps.window"),
    [
      ["0", text("heatmaps.all")],
      ["128", "128"],
      ["64", "64"],
      ["32", "32"],
    ],
    (value) => {
      view.count = Number(value);
      view.from = startAround(view);
      draw();
      refresh();
    },
  );
  const move = (windows) => {
    view.from = Math.max(0, Math.min(view.from + windows * view.count, current().parts.width - view.count));
    draw();
    refresh();
  };
  const back = make("button", { type: "button", "aria-label": text("heatmaps.earlier"), onclick: () => move(-1) }, "«");
  const forth = make("button", { type: "button", "aria-label": text("heatmaps.later"), onclick: () => move(1) }, "»");
  const range = make("span");
  const pager = make("span", { class: "ev-pager" }, back, range, forth);
  const full = tick(
    text("legend.full"),
    (on) => setScale({ range: on ? "full" : "quantile" }),
    text("legend.full_hint"),
  );
  const refresh = () => {
    const { width } = current().parts;
    if (view.count >= width) view.count = 0;
    pager.hidden = !view.count;
    view.from = view.count ? Math.min(view.from, width - view.count) : 0;
    range.textContent = text("heatmaps.range", {
      first: view.from,
      last: view.from + (view.count || width) - 1,
      total: width,
    });
    back.disabled = view.from === 0;
    forth.disabled = view.from + view.count >= width;
  };
  const element = make("div", { class: "ev-toolbar" }, order.field, zoom.field, pager, full.field);
  return {
    element,
    show(state) {
      full.input.checked = state.range === "full";
      full.input.disabled = state.locked !== null;
      refresh();
    },
  };
}

/** The first column of a window of dimensions with the selected one in the middle. */
function startAround(view) {
  const { dim, parts } = current();
  const at = view.order === "variance" ? parts.order.variance.indexOf(dim) : dim;
  return Math.max(0, Math.min(at - view.count / 2, parts.width - view.count));
}

/** The dimension of every column that is drawn. */
function columns(view) {
  const { parts } = current();
  const all = view.order === "variance" ? parts.order.variance : Array.from({ length: parts.width }, (_, d) => d);
  return view.count ? all.slice(view.from, view.from + view.count) : all;
}

function compose(view) {
  const { parts } = current();
  const spec = parts?.heatmap;
  if (!spec) return null;
  view.dims = columns(view);
  const layout = structuredClone(spec.layout);
  const data = structuredClone(spec.data).map((trace) => (trace.z?.part ? fill(trace, view) : trace));
  for (const [name, axis] of Object.entries(layout)) {
    if (/^xaxis/.test(name)) Object.assign(axis, ticks(view), { range: [-0.5, view.dims.length - 0.5] });
    if (/^coloraxis/.test(name)) colour(axis, name === "coloraxis2" ? "normalized" : "parts");
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
    const values = row(name, token);
    trace.z.push(
      !values ? new Float32Array(view.dims.length) : all ? values : Float32Array.from(view.dims, (d) => values[d]),
    );
  }
  trace.hoverinfo = "none"; // our own box shows the exact number
  delete trace.hovertemplate;
  if (!trace.coloraxis)
    Object.assign(trace, { colorscale: plotlyScale(), zmin: -limit(scaleOf(name)), zmax: limit(scaleOf(name)) });
  return trace;
}

function colour(axis, scale) {
  Object.assign(axis, { colorscale: plotlyScale(), cmin: -limit(scale), cmax: limit(scale), cauto: false });
  // The strip's legend says the same; a narrow figure leaves the room to the numbers.
  axis.showscale = !isNarrow();
  const place = scale === "parts" ? { y: 1, yanchor: "top", len: 190 } : { y: 0, yanchor: "bottom", len: 150 };
  Object.assign((axis.colorbar ??= {}), place, {
    lenmode: "pixels",
    outlinewidth: 0,
    thickness: 10,
    nticks: 5,
    tickfont: { color: variable("mute"), size: 11 },
  });
  if (axis.colorbar.title) axis.colorbar.title.font = { color: variable("mute"), size: 12 };
}

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

function showTip(tip, host, { token, dim, part }, event) {
  const entry = current().parts.tokens[token];
  const value = row(part, token)?.[dim];
  hover(token);
  if (value === undefined) return hideTip(tip);
  tip.replaceChildren(
    make("b", { class: `ev-ink-${part}` }, text(`part.${part}`)),
    ` ${signed(value)}`,
    make("small", {}, text("heatmaps.tip", { token, piece: entry.piece, dim, exact: exact(value) })),
  );
  tip.hidden = false;
  const box = host.getBoundingClientRect();
  const left = event.clientX - box.left + 14;
  tip.style.left = `${Math.min(left, box.width - tip.offsetWidth - 4)}px`;
  tip.style.top = `${event.clientY - box.top + 16}px`;
}

function hideTip(tip) {
  tip.hidden = true;
  hover(null);
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
