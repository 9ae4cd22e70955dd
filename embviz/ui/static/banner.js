// Above the strip: what is changed, in words, each change with a button that takes it back.

import { make } from "./dom.js";
import { subscribe } from "./store.js";
import { reset, takeBack } from "./whatif.js";
import { text } from "./words.js";

/** The banner of the changes; hidden while there are none. */
export function createBanner() {
  const list = make("ul", {});
  const said = make("span", { class: "ev-said", role: "status" });
  const clear = make("button", { type: "button", onclick: reset }, text("whatif.reset"));
  const element = make("div", { class: "ev-banner", hidden: true, role: "group", "aria-label": text("whatif.title") }, make("b", {}, text("whatif.banner")), list, said, clear);
  subscribe(["parts"], ({ parts }) => {
    const { changes = [], changed } = parts.what_if ?? {};
    const focused = element.contains(document.activeElement);
    element.hidden = !changes.length;
    list.replaceChildren(
      ...changes.map((change, at) =>
        make(
          "li",
          {},
          make("bdi", {}, change),
          make("button", { type: "button", "aria-label": text("whatif.take_back", { change }), onclick: () => takeBack(at) }, "×"),
        ),
      ),
    );
    if (focused) (list.querySelector("button") ?? document.querySelector("#embviz-strip [aria-selected=true]"))?.focus();
    said.textContent = changes.length && !changed ? text("whatif.nothing") : "";
  });
  return element;
}
