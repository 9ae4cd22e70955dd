// What a model lacks, in words: the same reasons wherever a part of it is missing.

import { make } from "./dom.js";
import { PARTS, subscribe } from "./store.js";
import { text } from "./words.js";

/** A list with the reason for every part that the model on the page does not have. */
export function createAbsences() {
  const element = make("ul", { class: "ev-absences" });
  subscribe(["parts"], ({ parts }) => {
    const absent = PARTS.filter((name) => parts.rows[name].absent !== undefined);
    element.hidden = absent.length === 0;
    element.replaceChildren(
      ...absent.map((name) =>
        make(
          "li",
          {},
          make("i", { class: `ev-dot ev-${name}` }),
          text("absent.title", { part: text(`part.${name}`), reason: parts.rows[name].absent }),
        ),
      ),
    );
  });
  return element;
}
