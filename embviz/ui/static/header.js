// Head and foot of the page: its name, light and dark, the link to copy.

import { isDark } from "./colours.js";
import { link } from "./address.js";
import { make } from "./dom.js";
import { PARTS, subscribe } from "./store.js";
import { text } from "./words.js";

const STORED = "embviz-theme";

/** Draws the head of the page into `element`. */
export function mountHeader(element) {
  const root = element.querySelector(".ev-header");
  const said = make("span", { class: "ev-unseen", role: "status" });
  const tagline = make("p", {}, text("page.tagline"));
  subscribe(["parts"], ({ parts }) => (tagline.textContent = taglineOf(parts)));
  const theme = make(
    "button",
    {
      type: "button",
      class: "ev-icon",
      "aria-label": text("header.theme"),
      title: text("header.theme"),
      onclick: () => setTheme(!isDark()),
    },
    "◐",
  );
  const copy = make("button", { type: "button", onclick: () => copyLink(copy, said) }, text("header.copy"));
  root.append(
    make("h1", {}, "embviz"),
    tagline,
    make("div", { class: "ev-actions" }, theme, copy, said),
  );
  keepTheme();
}

/** How the model on the page builds its input: the parts that it has, in one line. */
function taglineOf({ model, rows }) {
  const present = PARTS.filter((name) => !["summed", "output"].includes(name) && rows[name].absent === undefined);
  const sum = present.filter((name) => name !== "normalized").map((name) => text(`part.${name}`));
  const formula = sum.join(" + ") + (present.includes("normalized") ? ` → ${text("part.normalized")}` : "");
  return text("page.tagline_of", { name: model.architecture, formula });
}

/** Draws the foot of the page into `element`. */
export function mountFooter(element) {
  element.querySelector(".ev-footer").append(make("p", {}, text("page.foot")));
}

async function copyLink(button, said) {
  const copied = await toClipboard(link());
  button.textContent = said.textContent = text(copied ? "header.copied" : "header.copy_failed");
  setTimeout(() => {
    button.textContent = text("header.copy");
    said.textContent = "";
  }, 2000);
}

/** Without https there is no clipboard but the old one. */
async function toClipboard(content) {
  try {
    await navigator.clipboard.writeText(content);
    return true;
  } catch {
    const area = make("textarea", { readonly: true, class: "ev-unseen" });
    area.value = content;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function setTheme(dark) {
  remember(dark ? "dark" : "light");
  document.body.classList.toggle("dark", dark);
}

/** The theme that was chosen here before; an address with `__theme` says another for this visit. */
function keepTheme() {
  if (new URLSearchParams(location.search).has("__theme")) return;
  const apply = () => {
    const stored = remembered();
    if (stored && isDark() !== (stored === "dark")) document.body.classList.toggle("dark", stored === "dark");
  };
  apply();
  // Gradio follows the system's setting when that changes; what was chosen here counts more.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTimeout(apply, 0));
}

function remembered() {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null; // a browser that stores nothing still shows the page
  }
}

function remember(theme) {
  try {
    localStorage.setItem(STORED, theme);
  } catch {
    // as above
  }
}
