// The choices above a stack of heatmaps: order and window of the dimensions, and the range of the colours.

import { make, menu, tick } from "./dom.js";
import { current, setScale } from "./store.js";
import { text } from "./words.js";

/** The toolbar of a stack; it changes the `view` and calls `draw`; `show` follows the numbers of the moment. */
export function createToolbar(view, draw) {
  const order = menu(text("heatmaps.order"), [], (value) => {
    view.order = value;
    draw();
  });
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
      offerOrders(order.select, view);
      full.input.checked = state.range === "full";
      full.input.disabled = state.locked !== null;
      refresh();
    },
  };
}

/** The orders that there are for the numbers of the moment; one that is gone gives way to the dimensions as they are. */
function offerOrders(select, view) {
  const others = view.source.orders().filter(([, , dims]) => dims);
  if (!others.some(([key]) => key === view.order)) view.order = "index";
  const options = [["index", text("heatmaps.order_index")], ...others];
  if (options.map(([key]) => key).join() !== [...select.options].map(({ value }) => value).join())
    select.replaceChildren(...options.map(([value, name]) => make("option", { value }, name)));
  select.value = view.order;
}

/** All dimensions in the chosen order. */
export function ordered(view) {
  const chosen = view.source.orders().find(([key]) => key === view.order)?.[2];
  return chosen ?? Array.from({ length: current().parts.width }, (_, d) => d);
}

/** The first column of a window of dimensions with the selected one in the middle. */
function startAround(view) {
  const { dim, parts } = current();
  return Math.max(0, Math.min(ordered(view).indexOf(dim) - view.count / 2, parts.width - view.count));
}
