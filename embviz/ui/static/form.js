// What stands beside the form's own fields: notices, examples, and the card of the model with its verified mark.

import { make } from "./dom.js";
import { modelOnPage } from "./opening.js";
import { options } from "./projection.js";
import { current, subscribe } from "./store.js";
import { turn } from "./turns.js";
import { dropChanges } from "./whatif.js";
import { text } from "./words.js";

const EXAMPLES = ["same_word", "dog", "order", "single", "japanese", "markup"];

/** One sentence under a field: an error is announced at once, a notice when there is time. */
export function mountNotice(element, gradio) {
  const root = element.querySelector(".ev-notice");
  const ofPage = element.closest("#embviz-notice-page") !== null;
  const show = () => {
    const said = gradio.props.value ? JSON.parse(gradio.props.value) : {};
    const { kind = "notice", text: sentence = "" } = ofPage && failure ? failure : said;
    root.className = `ev-notice ev-${kind}`;
    root.setAttribute("role", kind === "error" ? "alert" : "status");
    root.textContent = sentence;
  };
  gradio.watch("value", show);
  if (ofPage) showPageNotice = show;
  show();
}

let failure = null;
let showPageNotice = () => {};

/** Says on the page that the server gave no answer, or takes that back when it is asked again. */
export function tellFailure(failed) {
  failure = failed ? { kind: "error", text: text("page.failed") } : null;
  showPageNotice();
}

/** The examples, as buttons of our own: a click fills the form and draws. */
export function mountExamples(element, gradio) {
  const root = element.querySelector(".ev-examples");
  const pick = async (key) => {
    await turn();
    dropChanges();
    window.embviz.busy();
    gradio.trigger("example", { key: `example.${key}`, model: modelOnPage(), options });
  };
  const buttons = EXAMPLES.map((key) =>
    make("button", { type: "button", onclick: () => pick(key) }, text(`example.${key}`)),
  );
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", text("example.title"));
  root.append(make("span", { class: "ev-try" }, text("example.title")), ...buttons);
}

/** What the model is, and how far our numbers are from the official module's; the mark follows the drawing. */
export function mountCard(element, gradio) {
  const [facts, origin, notes] = [make("p"), make("p", { class: "ev-origin" }), make("ul", { class: "ev-notes" })];
  const mark = make("p", { class: "ev-mark", role: "status" });
  element.querySelector(".ev-modelcard").append(facts, origin, mark, notes);
  let last = null;
  const showMark = () => {
    last = gradio.props.value ? JSON.parse(gradio.props.value) : null;
    if (last && last.query === current().parts?.query) fillMark(mark, last);
  };
  gradio.watch("value", showMark);
  subscribe(["parts"], ({ parts }) => {
    facts.textContent = factsOf(parts.model ?? {});
    origin.textContent = parts.model?.origin ?? "";
    notes.replaceChildren(...(parts.notes ?? []).map((sentence) => make("li", {}, sentence)));
    notes.hidden = !parts.notes?.length;
    if (last?.query === parts.query) return fillMark(mark, last);
    mark.className = "ev-mark";
    mark.textContent = text("mark.checking");
    // Two frames later the drawing is on the screen.
    requestAnimationFrame(() => requestAnimationFrame(() => gradio.trigger("verify", { query: parts.query })));
  });
}

function factsOf(model) {
  const number = (value) => value.toLocaleString("en");
  const narrow = model.embedding_size !== model.hidden_size;
  const limited = model.max_length && model.max_length !== model.max_position_embeddings;
  const known = [
    ["embedding_size", narrow ? "model.projected" : "model.dims"],
    ["vocab_size", "model.pieces"],
    ["max_position_embeddings", "model.positions"],
    [limited ? "max_length" : "", "model.max_length"],
    ["type_vocab_size", model.type_vocab_size === 1 ? "model.one_segment" : "model.segments"],
  ];
  const facts = known.filter(([name]) => model[name]).map(([name, key]) => text(key, { count: number(model[name]), size: number(model.hidden_size) }));
  return [model.architecture, ...facts].filter(Boolean).join(" · ");
}

function fillMark(mark, { state, text: sentence, note }) {
  mark.className = `ev-mark ${{ ok: "ev-good", different: "ev-bad" }[state] ?? ""}`;
  mark.textContent = sentence;
  mark.title = note ?? "";
}
