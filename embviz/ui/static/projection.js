// The map: PCA of the parts, with its choices above it. Choices that need other numbers ask the server for a map.

import { variable } from "./colours.js";
import { make, menu, switches, tick } from "./dom.js";
import { createFigure, isNarrow, numbers, onPoint, plotlyText } from "./figure.js";
import { PARTS, changed, current, hover, query, select, subscribe } from "./store.js";
import { text } from "./words.js";

const FITS = ["input", "parts", "positions", "vocabulary"];
const COLOURINGS = ["component", "segment", "position"];
const PAIRS = ["1,2", "1,3", "2,3", "3,4"];
const HEIGHT = 500;
const SMALL_HEIGHT = 400;

/** What the toolbar says, as the fields of a Recipe; it goes along with every question to the server. */
export const options = { pca_fit: "input", special_tokens: false, pca_components: [1, 2], color_by: "component" };

/** Draws the Map tab into `element`; reports "options" when the server has to project anew. */
export function mountProjection(element, gradio) {
  const root = element.querySelector(".ev-projection");
  root.classList.add("ev-card", "ev-waiting");
  const shown = { what: "parts" };
  const toolbar = createToolbar(shown, (change) => {
    Object.assign(options, change);
    window.embviz.busy();
    gradio.trigger("options", { query: query(), options });
  });
  const empty = make("p", { class: "ev-empty", hidden: true });
  const host = make("div", { class: "ev-host" });
  const say = make("p", { class: "ev-say" });
  root.append(make("h2", { class: "ev-unseen" }, text("tab.map")), toolbar.element, empty, host, say);

  const figure = createFigure(host, text("map.label"), () => compose(shown), (plot) => {
    onPoint(figure, "click", (point) => pointToken(point) !== null && select({ token: pointToken(point) }));
    onPoint(figure, "hover", (point) => hover(pointToken(point)));
    onPoint(figure, "unhover", () => hover(null));
    plot.dataset.shown = shown.what;
  });
  subscribe(["map"], (state) => {
    if (!state.map) return;
    root.classList.remove("ev-waiting");
    Object.assign(options, chosen(state.map.query));
    toolbar.show();
    const spec = state.map[shown.what];
    host.hidden = !spec;
    empty.hidden = Boolean(spec);
    empty.textContent = spec ? "" : (state.map.message ?? "");
    say.textContent = spec ? [state.map.sentences?.[shown.what], state.map.left_out].filter(Boolean).join(" ") : "";
  });
  subscribe(["map", "colours", "parts"], () => figure.draw());
  subscribe(["selection", "hover"], () => moveRing(figure));
}

const pointToken = (point) => (Number.isInteger(point?.customdata) ? point.customdata : null);

/** The Recipe's fields that this toolbar shows, out of its query; what is left out has its default. */
function chosen(recipe) {
  const fields = new URLSearchParams(recipe ?? "");
  return {
    pca_fit: fields.get("pca_fit") ?? "input",
    special_tokens: fields.get("special_tokens") === "1",
    pca_components: (fields.get("pca_components") ?? "1,2").split(",").map(Number),
    color_by: fields.get("color_by") ?? "component",
  };
}

function createToolbar(shown, ask) {
  const what = switches(text("map.what"), "embviz-map-what", [["parts", text("map.parts")], ["normalized", text("part.normalized")]], (value) => {
    shown.what = value;
    changed("map");
  });
  const fit = menu(text("map.fit"), FITS.map((key) => [key, text(`map.fit_${key}`)]), (value) => ask({ pca_fit: value }));
  const pair = menu(text("map.pair"), PAIRS.map((key) => [key, text("map.pcs", { first: key[0], second: key[2] })]), (value) => ask({ pca_components: value.split(",").map(Number) }));
  const depth = switches(text("map.depth"), "embviz-map-depth", [["2", "2-D"], ["3", "3-D"]], (value) => ask({ pca_components: value === "3" ? [1, 2, 3] : [1, 2] }));
  const colour = menu(text("map.colour"), COLOURINGS.map((key) => [key, text(`map.colour_${key}`)]), (value) => ask({ color_by: value }));
  const special = tick(text("map.special"), (on) => ask({ special_tokens: on }), text("map.special_hint"));
  const element = make("div", { class: "ev-toolbar" }, what.group, depth.group, pair.field, fit.field, colour.field, special.field);
  return { element, show: () => showChoices(shown, { what, fit, pair, depth, colour, special }) };
}

function showChoices(shown, { what, fit, pair, depth, colour, special }) {
  const key = options.pca_components.join(",");
  what.set(shown.what);
  depth.set(String(options.pca_components.length));
  if (options.pca_components.length === 2) {
    if (![...pair.select.options].some((one) => one.value === key)) {
      const [first, second] = options.pca_components;
      pair.select.append(make("option", { value: key }, text("map.pcs", { first, second })));
    }
    pair.select.value = key;
  }
  pair.field.hidden = options.pca_components.length !== 2;
  fit.select.value = options.pca_fit;
  colour.select.value = options.color_by;
  special.input.checked = options.special_tokens;
}

/** The spec of the moment in the colours of the theme, with the ring where it belongs. */
function compose(shown) {
  const { map } = current();
  const spec = map?.[shown.what];
  if (!spec) return null;
  const data = structuredClone(spec.data);
  for (const trace of data) dress(trace);
  const ring = data.find((trace) => trace.meta === "selection");
  if (ring) Object.assign(ring, ringStyle(ring), ringPlace(data));
  if (!isNarrow()) return { data, layout: { height: HEIGHT, ...spec.layout } };
  return { data, layout: { ...spec.layout, height: SMALL_HEIGHT, margin: { ...spec.layout.margin, l: 44, r: 36 } } };
}

/** The colours of a trace that shows one component; a trace coloured by its numbers keeps what Python chose. */
function dress(trace) {
  const role = PARTS.includes(trace.meta) ? trace.meta : null;
  if (!role) return;
  const colour = variable(role);
  if (trace.marker && !isMany(trace.marker.color)) trace.marker.color = colour;
  if (trace.line) trace.line.color = colour;
  if (trace.type === "scatter") trace.cliponaxis = false; // a name at the edge may stand beyond it
  if (trace.mode?.includes("text")) trace.textfont = { ...trace.textfont, color: variable(role === "token" ? "mute" : "ink"), size: role === "token" ? 11 : 13 };
}

const isMany = (colour) => Array.isArray(colour) || Boolean(colour?.bdata) || ArrayBuffer.isView(colour);

function ringStyle(ring) {
  const [ink, mute] = [variable("ink"), variable("mute")];
  const solid = ring.type === "scatter3d";
  const marker = solid
    ? { symbol: "circle-open", size: [13, 11], color: [ink, mute], line: { width: 3 } }
    : { symbol: "circle-open", size: [18, 15], color: [ink, mute], line: { width: [2.4, 1.6], color: [ink, mute] } };
  return { mode: "markers+text", marker, textposition: "bottom center", textfont: { color: ink, size: 13 }, hoverinfo: "skip", showlegend: false };
}

/** Where the selected and the hovered token stand; names are written where the figure itself writes none. */
function ringPlace(data) {
  const { parts, token, hovered } = current();
  const target = data.find((trace) => trace.meta === "summed" && trace.customdata) ?? data.find((trace) => trace.meta === "normalized" && trace.customdata) ?? data.find((trace) => trace.customdata);
  const place = { x: [], y: [], z: [], text: [] };
  if (!target) return place;
  const tokens = Array.from(numbers(target.customdata));
  const axes = ["x", "y", "z"].filter((name) => target[name]).map((name) => [name, numbers(target[name])]);
  for (const one of [token, hovered === token ? null : hovered]) {
    const at = one === null ? -1 : tokens.indexOf(one);
    for (const [name, values] of axes) place[name].push(at < 0 ? null : values[at]);
    place.text.push(at < 0 || target.text?.[at] ? "" : `${plotlyText(parts.tokens[one].piece)} <sub>${one}</sub>`);
  }
  return place;
}

/** Moves the ring without drawing the figure anew. */
function moveRing(figure) {
  const { plot, plotly, drawn } = figure;
  if (!drawn || plot.offsetParent === null) return;
  const index = plot.data.findIndex((trace) => trace.meta === "selection");
  if (index < 0) return;
  const { x, y, z, text: names } = ringPlace(plot.data);
  const change = { x: [x], y: [y], text: [names] };
  if (plot.data[index].type === "scatter3d") change.z = [z];
  plotly.restyle(plot, change, [index]);
}
