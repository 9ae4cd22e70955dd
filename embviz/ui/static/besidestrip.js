// One of the two strips of "Side by side": painted like the page's own, with a selection of its own.

import { gradient } from "./colours.js";
import { make } from "./dom.js";
import { decodeRows, scaleOf } from "./store.js";
import { bringIntoView, buildColumns, buildLabels } from "./columns.js";
import { paintValues } from "./tile.js";
import { signed, text } from "./words.js";

const NAMES = ["token", "segment", "position", "constant", "summed", "normalized"];

/** A strip for the side `name`, "this" or "other"; `onselect(token)` is called when another token is chosen. */
export function createSideStrip(name, onselect) {
  const title = make("h3", {});
  const labels = make("div", { class: "ev-labels", "aria-hidden": "true" });
  const list = make("div", { class: "ev-columns", role: "listbox", "aria-orientation": "horizontal" });
  const scroller = make("div", { class: "ev-scroller" }, labels, list);
  const note = make("p", { class: "ev-say" });
  const legend = make("div", { class: "ev-legend" });
  const view = { columns: [], sent: null, token: null };
  listenTo(list, view, onselect);
  return {
    element: make("section", { class: `ev-side ev-side-${name}` }, title, legend, scroller, note),
    legend,
    show(sent) {
      view.sent = sent;
      view.token = null;
      const names = NAMES.filter((part) => sent.parts[part] !== undefined);
      sent.rows = Object.fromEntries(names.map((part) => [part, decodeRows(sent.parts[part])]));
      const called = text(`beside.${name}`);
      const titled = text(sent.changed ? "beside.title_changed" : "beside.title", { side: called, name: sent.model.name });
      title.replaceChildren(make("i", { class: "ev-mark-of", "aria-hidden": "true" }), titled);
      list.setAttribute("aria-label", text("beside.tokens", { side: called }));
      buildLabels(labels, sent, names);
      buildColumns(list, view, sent, names);
      const part = sent.stop - sent.start < sent.total;
      note.textContent = part ? text("beside.window", { last: sent.stop - 1, total: sent.total }) : "";
      this.paint();
    },
    paint() {
      const { sent } = view;
      if (!sent) return;
      for (const { canvases, token } of view.columns)
        for (const part in canvases) {
          const { values, index } = sent.rows[part];
          const at = index[token - sent.start] * sent.width;
          paintValues(canvases[part], values.subarray(at, at + sent.width), sent.limits[scaleOf(part)]);
        }
    },
    select(token) {
      const at = (one) => (one === null ? undefined : view.columns[one - view.sent.start]?.element);
      const [before, now] = [at(view.token), at(token)];
      before?.setAttribute("aria-selected", "false");
      before?.setAttribute("tabindex", "-1");
      now?.setAttribute("aria-selected", "true");
      now?.setAttribute("tabindex", "0");
      if (now && list.contains(document.activeElement)) now.focus({ preventScroll: true });
      if (now) bringIntoView(scroller, now);
      view.token = token;
    },
  };
}

function listenTo(list, view, onselect) {
  const tokenAt = (event) => Number(event.target.closest(".ev-column")?.dataset.token ?? NaN);
  list.addEventListener("click", (event) => {
    const token = tokenAt(event);
    if (!Number.isInteger(token)) return;
    event.target.closest(".ev-column").focus({ preventScroll: true });
    onselect(token);
  });
  list.addEventListener("keydown", (event) => {
    const { sent, token } = view;
    const [first, last] = [sent.start, sent.stop - 1];
    const target = {
      ArrowLeft: token - 1, ArrowRight: token + 1, Home: first, End: last, " ": tokenAt(event), Enter: tokenAt(event),
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    onselect(Math.max(first, Math.min(target, last)));
  });
}

/** What which colour is on the scales that these sides share: one pair for both, or one for each. */
export function scaleBars(sides) {
  const bars = [];
  for (const scale of ["parts", "normalized"]) {
    const values = sides.flatMap((side) => valuesOf(side, scale));
    if (!values.length) continue; // no LayerNorm here
    const limit = sides[0].limits[scale];
    const beyond = values.reduce((count, array) => count + array.filter((one) => Math.abs(one) > limit).length, 0);
    bars.push(
      make(
        "span",
        { class: "ev-scale" },
        make("b", {}, text(`legend.${scale}`)),
        make("span", {}, signed(-limit, 2)),
        make("span", { class: "ev-bar", "aria-hidden": "true", style: `background: ${gradient()}` }),
        make("span", {}, signed(limit, 2)),
        make("small", {}, beyond ? text("legend.beyond", { count: beyond.toLocaleString("en") }) : ""),
      ),
    );
  }
  return bars;
}

/** The vectors that are painted on one scale, token by token. */
const valuesOf = (side, scale) =>
  Object.entries(side.rows)
    .filter(([part, rows]) => scaleOf(part) === scale && !rows.absent)
    .flatMap(([, rows]) => rows.index.map((at) => rows.values.subarray(at * side.width, (at + 1) * side.width)));
