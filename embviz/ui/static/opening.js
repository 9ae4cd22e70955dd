// Opening a model: what is read, how much of it so far, and a way to stop. Python asks for it when a model is wanted
// that is not open yet; the views stay as they are until the new ones come.

import { make } from "./dom.js";
import { current, setStale, subscribe } from "./store.js";
import { isPublic, text } from "./words.js";

let running = null; // {token, ref, query, start} of the opening that is waited for
let cancelRunning = () => {};
let showEnd = () => {};

/** Draws the hint below the model's field and the panel of an opening into `element`. */
export function mountOpening(element, gradio) {
  const title = make("b");
  const what = make("span", { class: "ev-what" });
  const bar = make("progress", { "aria-label": text("opening.progress_label") });
  const stop = make("button", { type: "button", onclick: () => cancel() }, text("opening.cancel"));
  const panel = make("div", { class: "ev-panel", role: "group", hidden: true }, title, what, bar, stop);
  const more = make("button", { type: "button", class: "ev-more", hidden: true });
  const hint = make("p", { class: "ev-hint" }, text(isPublic ? "opening.hint_public" : "opening.hint"));
  const said = make("span", { class: "ev-unseen", role: "status" });
  element.querySelector(".ev-opening").append(panel, more, hint, said);

  const cancel = () => running && gradio.trigger("cancel", { token: running.token });
  const hide = () => (panel.hidden = more.hidden = true);
  const start = (asked, download = false) => {
    cancel(); // a newer question: nobody waits for the older one any more
    running = { ...asked, token: newToken() };
    hide();
    panel.hidden = false;
    title.textContent = said.textContent = text("opening.title", { ref: asked.ref });
    what.textContent = text("opening.asking");
    bar.removeAttribute("value");
    setStale({ key: "opening.meanwhile", ref: asked.ref }, asked.meanwhile ? asked.query : undefined);
    gradio.trigger("open", { query: asked.query, start: asked.start, token: running.token, download });
  };
  const progress = ({ what: file, done, total }) => {
    if (!total) return;
    bar.max = total;
    bar.value = done;
    what.textContent = text("opening.progress", { what: file, done: bytes(done), total: bytes(total) });
  };
  const end = (stale) => {
    const ended = running;
    running = null;
    hide();
    said.textContent = "";
    setStale(stale && { key: "opening.still", ref: ended.ref });
    return ended;
  };
  const offer = (ended, size) => {
    more.textContent = text("opening.read_all", { size });
    more.hidden = false;
    more.onclick = () => start(ended, true);
  };
  cancelRunning = cancel;
  showEnd = () => running && end(true);
  const take = () => {
    const told = gradio.props.value ? JSON.parse(gradio.props.value) : {};
    if (told.state === "ask") return start(told);
    if (told.state === "idle") return cancel(), end(false);
    if (!running || told.token !== running.token) return; // of an opening that nobody waits for
    if (told.state === "reading") return progress(told);
    const ended = end(told.state !== "done");
    if (told.size) offer(ended, told.size);
  };
  gradio.watch("value", take);
  take();
}

/** The server could not finish an opening. */
export function notOpened() {
  cancelRunning();
  showEnd();
}

/** Says above the strip that it shows another model than the one that was asked for. */
export function createStale() {
  const element = make("p", { class: "ev-stale", role: "status", hidden: true });
  subscribe(["parts", "stale"], ({ stale, parts }) => {
    element.hidden = !stale;
    element.textContent = stale ? text(stale.key, { ref: stale.ref, name: parts.model.name }) : "";
  });
  return element;
}

/** The model on the page as it can be asked for again. */
export function modelOnPage() {
  const { model = "bundled", revision = null } = current().parts?.recipe ?? {};
  return revision ? `${model}@${revision}` : model;
}

function newToken() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A number of bytes as people say it. */
function bytes(count) {
  if (count < 1e6) return `${Math.ceil(count / 1e3)} kB`;
  return count < 1e9 ? `${(count / 1e6).toFixed(1)} MB` : `${(count / 1e9).toFixed(2)} GB`;
}
