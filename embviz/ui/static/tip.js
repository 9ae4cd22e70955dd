// A box of our own beside the pointer: Plotly's takes text as markup, and its numbers are rounded.

import { make } from "./dom.js";

/** A box over `host`; `show(event, …children)` fills it and puts it beside the pointer. */
export function createTip(host) {
  const tip = make("div", { class: "ev-tip", hidden: true });
  host.append(tip);
  return {
    show(event, ...children) {
      tip.replaceChildren(...children);
      tip.hidden = false;
      const box = host.getBoundingClientRect();
      tip.style.left = `${Math.max(4, Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${event.clientY - box.top + 16}px`;
    },
    hide: () => (tip.hidden = true),
  };
}
