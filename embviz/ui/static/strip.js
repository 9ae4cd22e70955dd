// The strip: one column a token, one row a part, each crossing a tile of the real vector.

import { createBanner } from "./banner.js";
import { bringIntoView, buildColumns, buildLabels, lastOf } from "./columns.js";
import { make } from "./dom.js";
import { createLegend } from "./legend.js";
import { createStale } from "./opening.js";
import { askPosition, reopen, setAside } from "./positionfield.js";
import { current, forgetWanted, hover, query, select, subscribe } from "./store.js";
import { paint, paintBefore } from "./tile.js";
import { turn } from "./turns.js";
import { flipSegment } from "./whatif.js";
import { text } from "./words.js";

/** Draws the strip into `element`; asks for "window" when another stretch of tokens is wanted. */
export function mountStrip(element, gradio) {
  const root = element.querySelector(".ev-strip");
  root.classList.add("ev-card");
  root.append(make("h2", { class: "ev-unseen" }, text("strip.title")));
  const legend = createLegend();
  const labels = make("div", { class: "ev-labels", "aria-hidden": "true" });
  const list = make("div", {
    class: "ev-columns",
    role: "listbox",
    "aria-orientation": "horizontal",
    "aria-label": text("strip.list"),
  });
  const scroller = make("div", { class: "ev-scroller" }, labels, list);
  const pager = createPager(gradio);
  const say = make("p", { class: "ev-say" });
  root.append(createStale(), createBanner(), legend.element, scroller, make("div", { class: "ev-under" }, say, pager.element), skeleton());
  root.classList.add("ev-waiting");

  const view = { columns: [], selected: null, hovered: null, refocus: false };
  listenTo(list, view);
  subscribe(["parts"], (state) => {
    root.classList.remove("ev-waiting");
    root.querySelector(".ev-skeleton")?.remove();
    buildLabels(labels, state.parts);
    const aside = setAside(); // a position that is being typed goes on in the new column
    view.refocus = !aside && list.contains(document.activeElement); // new columns take the focus of the old ones
    buildColumns(list, view, state.parts);
    reopen(list, aside);
    say.textContent = state.parts.sentences?.strip ?? "";
    pager.show(state.parts);
  });
  subscribe(["parts", "colours"], () => paintColumns(view));
  subscribe(["parts", "colours"], legend.show);
  subscribe(["parts", "selection", "hover"], (state) => mark(view, state, scroller));
  subscribe(["window"], pager.fetchWanted);
}

/** Grey columns that stand where the strip will be, while the model is being opened. */
function skeleton() {
  const columns = Array.from({ length: 12 }, () => make("i"));
  return make(
    "div",
    { class: "ev-skeleton", role: "status" },
    make("div", { "aria-hidden": "true" }, ...columns),
    make("p", {}, text("strip.warming")),
  );
}

function paintColumns(view) {
  for (const { canvases, ghost, token } of view.columns) {
    for (const name in canvases) paint(canvases[name], name, token);
    if (ghost) paintBefore(ghost, lastOf(current().parts), token);
  }
}

/** Moves the two marks: the sticky one of the selected token and the passing one under the pointer. */
function mark(view, state, scroller) {
  const at = (token) => (token === null ? undefined : view.columns[token - state.parts.start]?.element);
  if (view.selected !== state.token) {
    const [before, now] = [at(view.selected), at(state.token)];
    before?.setAttribute("aria-selected", "false");
    before?.setAttribute("tabindex", "-1");
    now?.setAttribute("aria-selected", "true");
    now?.setAttribute("tabindex", "0");
    // Whichever column has the focus: two keys may come within one frame.
    const typing = document.activeElement?.matches("input"); // the field of a position keeps the focus
    if (view.refocus || (scroller.contains(document.activeElement) && !typing)) now?.focus({ preventScroll: true });
    view.refocus = false;
    if (now) bringIntoView(scroller, now);
    view.selected = state.token;
  }
  if (view.hovered !== state.hovered) {
    at(view.hovered)?.classList.remove("ev-hovered");
    at(state.hovered)?.classList.add("ev-hovered");
    view.hovered = state.hovered;
  }
}

function listenTo(list, view) {
  const tokenAt = (event) => {
    const column = event.target.closest?.(".ev-column");
    return column ? Number(column.dataset.token) : null;
  };
  list.addEventListener("pointerover", (event) => event.pointerType !== "touch" && hover(tokenAt(event)));
  list.addEventListener("pointerleave", () => hover(null));
  list.addEventListener("click", (event) => {
    const token = tokenAt(event);
    if (token === null) return;
    select({ token });
    event.target.closest(".ev-column").focus({ preventScroll: true });
    const part = event.target.closest("[data-part]")?.dataset.part;
    if (part === "segment") flipSegment(token);
    if (part === "position") askPosition(event.target.closest("[data-part]"), token);
  });
  list.addEventListener("keydown", (event) => {
    const { token, parts } = current();
    const focused = tokenAt(event) ?? token;
    if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "f") flipSegment(focused);
    if (event.key === "p") askPosition(view.columns[focused - parts.start].element.querySelector("[data-part=position]"), focused);
    if (event.key === "f" || event.key === "p") return event.preventDefault();
    const target = {
      ArrowLeft: token - 1, ArrowRight: token + 1, Home: 0, End: parts.total - 1, " ": focused, Enter: focused,
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    view.columns[token - parts.start]?.element.focus({ preventScroll: true });
    select({ token: target });
  });
}

/** « tokens 0–63 of 512 »: shown only where not all tokens were sent. */
function createPager(gradio) {
  const ask = async (start) => {
    await turn();
    const sent = current().parts;
    const size = sent.stop - sent.start;
    window.embviz.busy();
    gradio.trigger("window", { query: query(), start: Math.max(0, Math.min(start, sent.total - size)) });
  };
  const move = (windows) => {
    const sent = current().parts;
    const size = sent.stop - sent.start;
    forgetWanted();
    ask(sent.start + windows * size);
  };
  const back = make("button", { type: "button", "aria-label": text("strip.earlier"), onclick: () => move(-1) }, "«");
  const forth = make("button", { type: "button", "aria-label": text("strip.later"), onclick: () => move(1) }, "»");
  const range = make("span", { "aria-live": "polite" });
  const element = make("div", { class: "ev-pager", hidden: true }, back, range, forth);
  return {
    element,
    show(sent) {
      element.hidden = sent.stop - sent.start >= sent.total;
      range.textContent = text("strip.window", { first: sent.start, last: sent.stop - 1, total: sent.total });
      back.disabled = sent.start === 0;
      forth.disabled = sent.stop >= sent.total;
    },
    fetchWanted(state) {
      if (state.wanted === undefined) return;
      const size = state.parts.stop - state.parts.start;
      ask(Math.floor(state.wanted / size) * size);
    },
  };
}
