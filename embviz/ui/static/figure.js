// Plotly: loaded when there is time for it, dressed in the colours of the page, drawn at most once a frame.

import { variable } from "./colours.js";
import { make } from "./dom.js";
import { whenVisible } from "./visible.js";
import { base } from "./words.js";

const CONFIG = {
  displaylogo: false,
  responsive: false, // we watch the container ourselves, and only while it can be seen
  showSendToCloud: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: [
    "lasso2d",
    "select2d",
    "autoScale2d",
    "toggleSpikelines",
    "hoverClosestCartesian",
    "hoverCompareCartesian",
  ],
};

let loading = null;

/** Whether the page is as narrow as a phone. */
export const isNarrow = () => matchMedia("(max-width: 760px)").matches;

const address = `${base}/plotly.min.js`;

/** Has the browser fetch plotly.js without reading its five million characters yet. */
export function preloadPlotly() {
  document.head.append(make("link", { rel: "preload", as: "script", href: address }));
}

/** Our own Plotly, fetched on the first call; kept here because other code may replace the global one. */
export function loadPlotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = make("script", {
      src: address,
      onload: () => resolve(window.Plotly),
      onerror: () => reject(new Error("plotly.js did not load")),
    });
    document.head.append(script);
  });
  return loading;
}

/**
 * A figure in `host`. `compose()` gives the spec to draw now, or null; `ready(plot)` is called after each drawing.
 * What it returns has `draw()`, to be called whenever the spec may have changed, and the `plot` element.
 */
export function createFigure(host, label, compose, ready = () => {}) {
  const plot = make("div", { class: "ev-plot", role: "group", "aria-label": label });
  host.append(plot);
  const figure = { plot, plotly: null, drawn: false, draw: null };
  let queue = Promise.resolve();
  const drawNow = async () => {
    const spec = compose();
    if (!spec) return;
    const P = (figure.plotly ??= await loadPlotly());
    const config = { ...CONFIG, displayModeBar: plot.clientWidth > 560 ? "hover" : false };
    await withoutBase(() => P.react(plot, spec.data, skin(spec.layout, plot), config));
    figure.drawn = true;
    ready(plot);
  };
  figure.draw = whenVisible(plot, () => (queue = queue.then(drawNow).catch((error) => console.error(error))));
  watchSize(figure);
  return figure;
}

/**
 * Gradio's page has a `<base>`. Plotly, seeing it, would write the whole address before each of its references (clip
 * paths, gradients), and they would lead nowhere as soon as the address changes; without it they are `#name` alone.
 */
function withoutBase(draw) {
  const base = document.querySelector("base");
  base?.remove();
  try {
    return draw();
  } finally {
    if (base) document.head.prepend(base);
  }
}

/** Calls `listener` with the event's first point on every click, however often the figure is drawn anew. */
export function onPoint(figure, name, listener) {
  if (figure.plot.on && !figure.plot.dataset[name]) {
    figure.plot.dataset[name] = "1";
    figure.plot.on(`plotly_${name}`, (event) => listener(event?.points?.[0], event?.event));
  }
}

function watchSize(figure) {
  let width = 0;
  let timer = 0;
  new ResizeObserver(() => {
    const now = figure.plot.clientWidth;
    if (now === width || now === 0) return;
    const first = width === 0;
    width = now;
    if (first || !figure.drawn) return;
    clearTimeout(timer);
    timer = setTimeout(figure.draw, 60);
  }).observe(figure.plot);
}

/** The layout in the type and the colours of the present theme. */
function skin(layout, plot) {
  const dressed = structuredClone(layout);
  const [ink, mute, line] = [variable("ink"), variable("mute"), variable("line")];
  Object.assign(dressed, {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    autosize: true,
    width: plot.clientWidth,
  });
  dressed.font = { ...dressed.font, family: getComputedStyle(plot).fontFamily, size: 13, color: ink };
  dressed.hoverlabel = {
    ...dressed.hoverlabel,
    bgcolor: variable("panel"),
    bordercolor: variable("edge"),
    font: { color: ink, size: 13 },
  };
  dressed.legend = { ...dressed.legend, bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: 13 } };
  if (dressed.scene) dressed.scene.camera ??= { eye: { x: 1.45, y: 1.45, z: 0.95 }, center: { x: 0, y: 0, z: -0.12 } };
  const axes = [...Object.entries(dressed), ...Object.entries(dressed.scene ?? {})].filter(([name]) =>
    /^[xyz]axis\d*$/.test(name),
  );
  for (const [, axis] of axes) {
    Object.assign(axis, {
      gridcolor: line,
      linecolor: line,
      zerolinecolor: line,
      tickcolor: line,
      tickfont: { ...axis.tickfont, color: mute, size: 11 },
    });
    if (axis.title)
      axis.title = {
        ...(typeof axis.title === "string" ? { text: axis.title } : axis.title),
        font: { color: mute, size: 12 },
      };
    if (dressed.scene) Object.assign(axis, { backgroundcolor: "rgba(0,0,0,0)", showbackground: false });
  }
  for (const note of dressed.annotations ?? []) note.font = { ...note.font, color: note.font?.color ?? ink };
  return dressed;
}

/** Numbers of a trace as an array, whichever way Python packed them. */
export function numbers(packed) {
  if (!packed?.bdata) return packed ?? [];
  const bytes = Uint8Array.from(atob(packed.bdata), (character) => character.charCodeAt(0));
  const kind = {
    f4: Float32Array,
    f8: Float64Array,
    i1: Int8Array,
    u1: Uint8Array,
    i2: Int16Array,
    u2: Uint16Array,
    i4: Int32Array,
    u4: Uint32Array,
  }[packed.dtype];
  return new kind(bytes.buffer);
}

/** Text for Plotly, which would read `<b>` as bold. */
export const plotlyText = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
