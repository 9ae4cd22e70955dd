// The numbers of a figure as a table that can be opened below it: for who cannot see the figure, or wants to copy.

import { make } from "./dom.js";
import { subscribe } from "./store.js";
import { createTable, heading, listenTo, markRow, rowHead } from "./tables.js";
import { whenVisible } from "./visible.js";

/**
 * A closed table whose rows are tokens or dimensions; a click or the arrow keys select one.
 * `fill()` gives `{columns, rows}`: the names of the columns, and for each row `{index, cells}`; it is asked while the
 * table is open only. `draw()` says that there are other numbers.
 */
export function createFold(title, name, fill) {
  const table = createTable(title);
  const element = make("details", { class: "ev-fold" }, make("summary", {}, title), table.frame);
  const draw = whenVisible(table.frame, () => {
    const { columns, rows } = fill();
    const [first, ...others] = columns;
    table.head.replaceChildren(make("tr", {}, heading(first), ...others.map((column) => heading(column, ""))));
    table.body.replaceChildren(
      ...rows.map(({ index, cells }) =>
        make("tr", { [`data-${name}`]: index }, index === null ? make("th", { scope: "row" }) : rowHead(index), ...cells),
      ),
    );
    markRow(table, name);
  });
  const mark = whenVisible(table.frame, () => markRow(table, name));
  listenTo(table.body, name);
  subscribe(["selection"], () => mark());
  return { element, draw };
}
