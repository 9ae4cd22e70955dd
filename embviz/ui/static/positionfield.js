// The field that a click on the name of a position opens: what is typed there moves the token.

import { make } from "./dom.js";
import { current } from "./store.js";
import { movePosition, refusal } from "./whatif.js";
import { text } from "./words.js";

/** Puts the field in place of the name of the position. */
export function askPosition(cell, token) {
  if (refusal("MovePosition") || cell.classList.contains("ev-absent") || cell.querySelector("input")) return;
  const { tokens, what_if } = current().parts;
  const name = cell.querySelector(".ev-name");
  const field = make("input", {
    type: "number", class: "ev-position-field", min: 0, max: what_if.rows - 1, value: tokens[token].position,
    "aria-label": text("strip.position_field", { token, piece: tokens[token].piece }),
  });
  let open = true;
  const close = (take) => {
    if (!open) return;
    open = false;
    const value = field.valueAsNumber;
    const valid = field.validity.valid && Number.isInteger(value);
    field.replaceWith(name);
    cell.closest(".ev-column").focus({ preventScroll: true });
    if (take && valid && value !== tokens[token].position) movePosition(token, value);
  };
  field.addEventListener("blur", () => close(true));
  field.addEventListener("click", (event) => event.stopPropagation());
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") close(true);
    if (event.key === "Escape") close(false);
  });
  name.replaceWith(field);
  field.focus();
  field.select();
}
