// The form of "Side by side": what the input on the page is compared with, which is a second Recipe.

import { make, menu, tick } from "./dom.js";
import { current, query } from "./store.js";
import { text } from "./words.js";

const BUNDLED = "bundled";
const TWINS = { 384: "untrained:all-MiniLM-L6-v2", 768: "untrained:bert-base" }; // by width: the same dimensions

/** The form; `models` are pairs of a name and a reference, `ask(query)` is called with the second Recipe. */
export function createBesideForm(models, ask) {
  const area = (key) => {
    const box = make("textarea", { rows: 2, onkeydown: onEnter });
    return { box, field: make("label", { class: "ev-wide" }, make("span", {}, text(key)), box) };
  };
  const onEnter = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  };
  const [a, b] = [area("form.text"), area("form.text_pair")];
  const model = menu(text("form.model"), models.map(([name, ref]) => [ref, name]), () => {});
  const whatIf = tick(text("beside.what_if"), () => {}, text("beside.what_if_hint"));
  const presets = createPresets((changes) => {
    fill(changed(changes));
    form.requestSubmit();
  });
  const notice = make("p", { class: "ev-notice" });
  const status = make("p", { class: "ev-comparing", role: "status" });
  const form = make(
    "form",
    { class: "ev-besideform", "aria-label": text("tab.beside"), onsubmit },
    make("div", { class: "ev-boxes" }, a.field, b.field),
    make(
      "div",
      { class: "ev-toolbar" },
      model.field,
      whatIf.field,
      make("button", { type: "submit", class: "ev-go" }, text("beside.compare")),
    ),
    presets.element,
    notice,
    status,
  );
  let other = null; // the second Recipe, as the form was filled with it

  function onsubmit(event) {
    event.preventDefault();
    const fields = new URLSearchParams(other ?? query());
    set(fields, "text", a.box.value);
    set(fields, "text_pair", b.box.value.trim() ? b.box.value : null);
    if (model.select.value !== modelOf(fields)) {
      fields.delete("revision");
      set(fields, "model", model.select.value === BUNDLED ? null : model.select.value);
    }
    set(fields, "what_if", whatIf.input.checked ? (fields.get("what_if") ?? paramOf("what_if")) : null);
    ask(fields.toString());
  }

  /** Shows a Recipe in the form; not while somebody types there. */
  function fill(recipe) {
    if (form.contains(document.activeElement) && document.activeElement.matches("textarea")) return;
    other = recipe;
    const fields = new URLSearchParams(recipe);
    a.box.value = fields.get("text") ?? "";
    b.box.value = fields.get("text_pair") ?? "";
    const ref = modelOf(fields);
    if (![...model.select.options].some((one) => one.value === ref))
      model.select.append(make("option", { value: ref }, [ref, fields.get("revision")].filter(Boolean).join("@")));
    model.select.value = ref;
    whatIf.input.checked = fields.has("what_if");
    whatIf.input.disabled = !fields.has("what_if") && !paramOf("what_if");
    presets.show();
  }

  return {
    element: form,
    fill,
    wait() {
      say("");
      const open = models.some(([, ref]) => ref === model.select.value && !ref.includes("/"));
      status.textContent = text(open ? "beside.comparing" : "beside.opening", { ref: model.select.value });
    },
    say,
    done: () => (status.textContent = ""),
  };

  /** The sentence of an error, or "" when there is none. */
  function say(sentence) {
    status.textContent = "";
    notice.className = sentence ? "ev-notice ev-error" : "ev-notice";
    notice.setAttribute("role", sentence ? "alert" : "status");
    notice.textContent = sentence;
  }
}

const set = (fields, name, value) => (value === null || value === undefined ? fields.delete(name) : fields.set(name, value));
const modelOf = (fields) => fields.get("model") ?? BUNDLED;
const paramOf = (name) => new URLSearchParams(query()).get(name);

/** The Recipe on the page with other values; null takes one out. */
function changed(changes) {
  const fields = new URLSearchParams(query());
  for (const [name, value] of Object.entries(changes)) set(fields, name, value);
  return fields.toString();
}

/** Three comparisons at a click; one that means nothing for this input is off and says why. */
function createPresets(pick) {
  const button = (key, changes) => make("button", { type: "button", onclick: () => pick(changes()) }, text(key));
  const untrained = button("beside.untrained", () => ({ model: twin(), revision: null }));
  const plain = button("beside.without", () => ({ what_if: null }));
  const order = button("beside.order", reordered);
  const element = make(
    "div",
    { class: "ev-examples", role: "group", "aria-label": text("beside.presets") },
    make("span", { class: "ev-try" }, text("beside.presets")),
    untrained,
    plain,
    order,
  );
  return {
    element,
    show() {
      untrained.disabled = !twin();
      untrained.title = twin() ? "" : text("beside.no_twin");
      plain.disabled = !paramOf("what_if");
      plain.title = plain.disabled ? text("beside.no_what_if") : "";
      const { text: a, text_pair: b } = reordered();
      order.disabled = a === (paramOf("text") ?? "") && (b ?? "") === (paramOf("text_pair") ?? "");
      order.title = order.disabled ? text("beside.no_order") : "";
    },
  };
}

/** The untrained model with the same dimensions; null where there is none, or where the page shows it already. */
function twin() {
  const ref = TWINS[current().parts?.width];
  return ref === undefined || ref === (paramOf("model") ?? BUNDLED) ? null : ref;
}

/** Both sentences with their words in reverse order; what ends a sentence stays at its end. */
function reordered() {
  const turn = (sentence) => {
    if (!sentence) return null;
    const [, body, end] = sentence.trim().match(/^([^]*?)([.!?…]*)$/);
    return body.split(/\s+/).reverse().join(" ") + end;
  };
  return { text: turn(paramOf("text")) ?? "", text_pair: turn(paramOf("text_pair")) };
}
