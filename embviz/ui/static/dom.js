// Building elements. Text only ever gets in as text: no function here knows innerHTML.

/** A new element; `attributes` may hold `class`, `data-…`, `aria-…`, and `on…` listeners; children are elements or text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A piece of a token as the tokenizer has it, with its own direction of writing and its blanks made visible. */
export function piece(token) {
  const shown = token.piece
    .replace(/[ \u00a0]/g, "␣")
    .replace(/\t/g, "⇥")
    .replace(/\r?\n/g, "⏎");
  const kind = token.typed ? "ev-special ev-typed" : token.special ? "ev-special" : "";
  return make("bdi", { class: `ev-piece ${kind}`, dir: "auto" }, shown);
}

/** A native menu with a label; `choices` are pairs of a value and its name. */
export function menu(label, choices, onchange) {
  const select = make("select", { onchange: () => onchange(select.value) });
  for (const [value, name] of choices) select.append(make("option", { value }, name));
  const field = make("label", { class: "ev-field" }, make("span", {}, label), select);
  return { field, select };
}

/** A row of two or three choices, of which one is on, as radio buttons of one group. */
export function switches(label, name, choices, onchange) {
  const group = make("div", { class: "ev-switches", role: "radiogroup", "aria-label": label });
  const inputs = choices.map(([value, shown]) => {
    const input = make("input", { type: "radio", name, value, onchange: () => onchange(value) });
    group.append(make("label", {}, input, make("span", {}, shown)));
    return input;
  });
  const set = (value) => inputs.forEach((input) => (input.checked = input.value === value));
  return { group, set };
}

/** A tick box with its label. */
export function tick(label, onchange, hint = null) {
  const input = make("input", { type: "checkbox", onchange: () => onchange(input.checked) });
  return { field: make("label", { class: "ev-tick", title: hint }, input, make("span", {}, label)), input };
}
