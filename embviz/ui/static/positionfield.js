// The field that a click on the name of a position opens: what is typed there moves the token.

import { make } from "./dom.js";
import { current } from "./store.js";
import { movePosition, refusal } from "./whatif.js";
import { text } from "./words.js";

let open = null; // the field that is open: {token, typed(), close()}

/** Puts the field in place of the name of the position, with what was typed there already. */
export function askPosition(cell, token, typed = null) {
  if (refusal("MovePosition") || cell.classList.contains("ev-absent") || cell.querySelector("input")) return;
  const { tokens, what_if } = current().parts;
  const name = cell.querySelector(".ev-name");
  const field = make("input", {
    type: "number", class: "ev-position-field", min: 0, max: what_if.rows - 1, value: typed ?? tokens[token].position,
    "aria-label": text("strip.position_field", { token, piece: tokens[token].piece }),
  });
  const close = (take, focus = true) => {
    if (open?.field !== field) return;
    open = null;
    const value = field.valueAsNumber;
    const valid = field.validity.valid && Number.isInteger(value);
    field.replaceWith(name);
    if (focus) cell.closest(".ev-column").focus({ preventScroll: true });
    if (take && valid && value !== tokens[token].position) movePosition(token, value);
  };
  field.addEventListener("blur", () => close(true, false));
  field.addEventListener("click", (event) => event.stopPropagation());
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" && field.reportValidity()) close(true);
    if (event.key === "Escape") close(false);
  });
  open = { token, field, close };
  name.replaceWith(field);
  field.focus();
  if (typed === null) field.select();
}

/** Closes the field without effect, for new columns; gives back what `reopen` needs, or null where none is open. */
export function setAside() {
  if (!open) return null;
  const { token, field, close } = open;
  const typed = Number(field.value) === current().parts.tokens[token]?.position ? null : field.value;
  close(false, false);
  return { token, typed };
}

/** Opens the field again, in the new column of its token. */
export function reopen(list, aside) {
  const cell = aside && list.querySelector(`[data-token="${aside.token}"] [data-part=position]`);
  if (cell) askPosition(cell, aside.token, aside.typed);
}
