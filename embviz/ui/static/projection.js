// The map: PCA of the parts, with its choices above it. Choices that need other numbers ask the server for a map.

import { variable } from "./colours.js";
import { make, menu, switches, tick } from "./dom.js";
import { createFigure, isNarrow, numbers, onPoint, plotlyText } from "./figure.js";
import { createOverlay, label, line, ring, scaleOfAxes, within } from "./overlay.js";
import { PARTS, changed, current, hover, query, select, subscribe } from "./store.js";
import { turn } from "./turns.js";
import { text } from "./words.js";

const FITS = ["input", "parts", "positions", "vocabulary"];
const COLOURINGS = ["component", "segment", "position"];
const PAIRS = ["1,2", "1,3", "2,3", "3,4"];
const ADDED = ["segment", "position", "constant"]; // what leads from one point of a path to the next
const HEIGHT = 500;
const SMALL_HEIGHT = 400;

/** What the toolbar says, as the fields of a Recipe; it goes along with every question to the server. */
export const options = { pca_fit: "input", special_tokens: false, pca_components: [1, 2], color_by: "component" };

const chosenNow = {}; // choices whose turn has not come: a map that arrives meanwhile is drawn without them

/** Draws the Map tab into `element`; reports "options" when the server has to project anew. */
export function mountProjection(element, gradio) {
  const root = element.querySelector(".ev-projection");
  root.classList.add("ev-card", "ev-waiting");
  const shown = { what: "parts" };
  const toolbar = createToolbar(shown, async (change) => {
    Object.assign(chosenNow, change);
    Object.assign(options, change);
    await turn();
    window.embviz.busy();
    gradio.trigger("options", { query: query(), options: { ...options, ...change } });
    for (const name in change) delete chosenNow[name];
  });
  const empty = make("p", { class: "ev-empty", hidden: true });
  const host = make("div", { class: "ev-host" });
  const say = make("p", { class: "ev-say" });
  root.append(make("h2", { class: "ev-unseen" }, text("tab.map")), toolbar.element, empty, host, say);

  const figure = createFigure(
    host,
    text("map.label"),
    () => compose(shown),
    (plot) => {
      onPoint(figure, "click", (point) => pointToken(point) !== null && select({ token: pointToken(point) }));
      onPoint(figure, "hover", (point) => hover(pointToken(point)));
      onPoint(figure, "unhover", () => hover(null));
      onPoint(figure, "relayout", () => markTokens(figure, overlay, shown));
      plot.dataset.shown = shown.what;
      markTokens(figure, overlay, shown);
    },
  );
  const overlay = createOverlay(figure);
  subscribe(["map", "parts"], (state) => {
    if (!state.map) return;
    root.classList.remove("ev-waiting");
    Object.assign(options, chosen(state.map.query), chosenNow);
    toolbar.show();
    const spec = state.map[shown.what];
    const bare = shown.what === "normalized" && state.parts?.rows.normalized.absent;
    host.hidden = !spec || Boolean(bare);
    empty.hidden = !host.hidden;
    empty.textContent = bare || (spec ? "" : (state.map.message ?? ""));
    say.textContent = spec && !bare ? [state.map.sentences?.[shown.what], state.map.left_out].filter(Boolean).join(" ") : "";
  });
  subscribe(["map", "colours", "parts"], () => figure.draw());
  subscribe(["selection", "hover"], () => markTokens(figure, overlay, shown));
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
  const what = switches(
    text("map.what"),
    "embviz-map-what",
    [
      ["parts", text("map.parts")],
      ["normalized", text("part.normalized")],
    ],
    (value) => {
      shown.what = value;
      changed("map");
    },
  );
  const fit = menu(
    text("map.fit"),
    FITS.map((key) => [key, text(`map.fit_${key}`)]),
    (value) => ask({ pca_fit: value }),
  );
  const pair = menu(
    text("map.pair"),
    PAIRS.map((key) => [key, text("map.pcs", { first: key[0], second: key[2] })]),
    (value) => ask({ pca_components: value.split(",").map(Number) }),
  );
  const depth = switches(
    text("map.depth"),
    "embviz-map-depth",
    [
      ["2", "2-D"],
      ["3", "3-D"],
    ],
    (value) => ask({ pca_components: value === "3" ? [1, 2, 3] : [1, 2] }),
  );
  const colour = menu(
    text("map.colour"),
    COLOURINGS.map((key) => [key, text(`map.colour_${key}`)]),
    (value) => ask({ color_by: value }),
  );
  const special = tick(text("map.special"), (on) => ask({ special_tokens: on }), text("map.special_hint"));
  const element = make(
    "div",
    { class: "ev-toolbar" },
    what.group,
    depth.group,
    pair.field,
    fit.field,
    colour.field,
    special.field,
  );
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

/** The spec of the moment in the colours of the theme. */
function compose(shown) {
  const spec = current().map?.[shown.what];
  if (!spec) return null;
  // The ring of a flat map is a mark of our own (overlay.js); in space only Plotly knows where a point is.
  const data = structuredClone(spec.data).filter((trace) => trace.meta !== "selection" || trace.type === "scatter3d");
  data.forEach(dress);
  const ring = data.find((trace) => trace.meta === "selection");
  if (ring) Object.assign(ring, ringStyle(), ringPlace(data));
  if (!isNarrow()) return { data, layout: { height: HEIGHT, ...spec.layout } };
  return { data, layout: { ...spec.layout, height: SMALL_HEIGHT, margin: { ...spec.layout.margin, l: 44, r: 36 } } };
}

/** The colours of a trace that shows one component; a trace coloured by its numbers keeps what Python chose. */
function dress(trace) {
  if (trace.meta === "moved") trace.line.color = variable("ink");
  if (trace.meta === "moved" && trace.marker) trace.marker.color = variable("ink");
  const role = PARTS.includes(trace.meta) ? trace.meta : null;
  if (!role) return;
  const colour = variable(role);
  if (trace.marker && !isMany(trace.marker.color)) trace.marker.color = colour;
  if (trace.line) trace.line.color = colour;
  if (trace.type === "scatter") trace.cliponaxis = false; // a name at the edge may stand beyond it
  if (trace.mode?.includes("text"))
    trace.textfont = {
      ...trace.textfont,
      color: variable(role === "token" ? "mute" : "ink"),
      size: role === "token" ? 11 : 13,
    };
}

const isMany = (colour) => Array.isArray(colour) || Boolean(colour?.bdata) || ArrayBuffer.isView(colour);

/** Marks the selected and the hovered token: on a flat map as an overlay, in space with Plotly's own ring. */
function markTokens(figure, overlay, shown) {
  const { plot, plotly, drawn } = figure;
  if (!drawn || plot.offsetParent === null) return;
  const index = plot.data.findIndex((trace) => trace.meta === "selection");
  overlay.draw(index < 0 ? flatMarks(plot, shown.what) : []);
  if (index < 0) return;
  const { x, y, z, text: names } = ringPlace(plot.data);
  plotly.restyle(plot, { x: [x], y: [y], z: [z], text: [names] }, [index]);
}

/** The path of a token through the parts, and the ring where it ends. */
function flatMarks(plot, what) {
  const { map, token, hovered } = current();
  const scale = scaleOfAxes(plot);
  if (!scale) return [];
  const [ink, mute, panel] = [variable("ink"), variable("mute"), variable("panel")];
  const marks = [];
  const tokens = hovered === null || hovered === token ? [token] : [hovered, token];
  for (const one of tokens) {
    const end = endTrace(plot.data);
    const at = end ? Array.from(numbers(end.customdata)).indexOf(one) : -1;
    if (at < 0) continue; // a special token that is left out has no place here
    const stages = Object.values(map.coordinates[what]).map((points) => [
      scale.x(points[one * 2]),
      scale.y(points[one * 2 + 1]),
    ]);
    const place = stages.at(-1);
    if (!within(scale, place)) continue;
    for (let at = 1; at < stages.length; at++)
      marks.push(line(stages[at - 1], stages[at], variable(ADDED[at - 1]), 3));
    marks.push(ring(place, 9.5, one === token ? ink : mute, one === token ? 2.4 : 1.8));
    if (!end.text?.[at])
      marks.push(label([place[0], place[1] - 15], `${current().parts.tokens[one].piece} ${one}`, ink, panel));
  }
  return marks;
}

/** The trace with the points where the paths end. */
const endTrace = (data) => data.find((trace) => ["summed", "normalized"].includes(trace.meta) && trace.customdata);

function ringStyle() {
  const colours = [variable("ink"), variable("mute")];
  const marker = {
    symbol: "circle-open",
    size: [20, 16],
    color: colours,
    opacity: 1,
    line: { width: 4, color: colours },
  };
  return {
    mode: "markers+text",
    marker,
    textposition: "bottom center",
    textfont: { color: colours[0], size: 13 },
    hoverinfo: "skip",
    showlegend: false,
  };
}

/** Where the selected and the hovered token stand in space; names are written where the figure itself writes none. */
function ringPlace(data) {
  const { parts, token, hovered } = current();
  const target = endTrace(data);
  const place = { x: [], y: [], z: [], text: [] };
  if (!target) return place;
  const tokens = Array.from(numbers(target.customdata));
  const axes = ["x", "y", "z"].map((name) => [name, numbers(target[name])]);
  for (const one of [token, hovered === token ? null : hovered]) {
    const at = one === null ? -1 : tokens.indexOf(one);
    for (const [name, values] of axes) place[name].push(at < 0 ? null : values[at]);
    place.text.push(at < 0 || target.text?.[at] ? "" : plotlyText(`${parts.tokens[one].piece} ${one}`));
  }
  return place;
}
