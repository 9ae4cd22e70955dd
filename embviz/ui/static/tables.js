// The same numbers as tables: the tokens, and every dimension of the selected token.

import { createAbsences } from "./absences.js";
import { make, piece } from "./dom.js";
import { PARTS, current, row, select, subscribe } from "./store.js";
import { letter } from "./columns.js";
import { whenVisible } from "./visible.js";
import { exact, plain, signed, text } from "./words.js";

/** Draws the Table tab into `element`. */
export function mountTables(element) {
  const root = element.querySelector(".ev-tables");
  root.classList.add("ev-card");
  const tokens = createTable(text("tables.tokens"));
  const dims = createTable("");
  root.append(make("h2", { class: "ev-unseen" }, text("tab.table")), createAbsences(), tokens.section, dims.section);
  const view = { token: -1, rows: [], cells: [] };
  const drawTokens = whenVisible(tokens.frame, () => fillTokens(tokens, view));
  const drawDims = whenVisible(dims.frame, () => fillDims(dims, view));
  const drawMarks = whenVisible(root, () => (markRow(tokens, "token"), markRow(dims, "dim")));
  subscribe(["parts", "map"], () => drawTokens());
  subscribe(["parts", "selection"], () => drawDims());
  subscribe(["parts", "selection", "map"], () => drawMarks());
  listenTo(tokens.body, "token");
  listenTo(dims.body, "dim");
}

/** A table in a frame of its own; `body`, `head` and `titles` are filled by whoever made it. */
export function createTable(title) {
  const caption = make("caption", { class: "ev-unseen" }, title);
  const shown = make("h3", { "aria-hidden": "true" }, title); // the caption where it does not scroll away
  const [head, body] = [make("thead"), make("tbody")];
  const frame = make("div", { class: "ev-tableframe" }, make("table", { class: "ev-table" }, caption, head, body));
  return { section: make("section", {}, shown, frame), frame, titles: [caption, shown], head, body };
}

export const heading = (name, kind = null) =>
  make(
    "th",
    { scope: "col", class: kind === null ? null : "ev-numeric" },
    kind ? make("i", { class: `ev-dot ev-${kind}` }) : null,
    name,
  );

/** One row a token of the window: what it is, how long its vectors are, where it stands on the map. */
function fillTokens({ head, body }, view) {
  const { parts, map } = current();
  const points = map?.coordinates?.parts?.summed;
  const axes = points ? (map.axes?.parts ?? map.axes ?? []) : [];
  const names = ["index", "piece", "typed", "id", "segment", "position"].map((key) => heading(text(`tables.${key}`)));
  const norms = PARTS.map((name) => heading(text("tables.norm", { part: text(`part.${name}`) }), name));
  head.replaceChildren(
    make("tr", {}, ...names, ...norms, ...axes.map((axis) => heading(text("tables.axis", { axis }), ""))),
  );
  const rows = [];
  for (let token = parts.start; token < parts.stop; token++) {
    const entry = parts.tokens[token];
    const cells = [
      make("td", {}, piece(entry)),
      make("td", {}, make("bdi", { dir: "auto" }, entry.source ?? "")),
      make("td", {}, entry.id),
      make("td", {}, `${entry.segment} ${text("tables.called", { name: letter(entry.segment) })}`),
      make("td", {}, entry.position),
    ];
    const lengths = PARTS.map((name) => numberCell(norm(row(name, token)), plain));
    const places = axes.map((_, at) => numberCell(coordinate(points, token, axes.length, at), signed));
    rows.push(make("tr", { "data-token": token }, rowHead(token), ...cells, ...lengths, ...places));
  }
  body.replaceChildren(...rows);
  view.rows = rows;
}

/** A number that is exact on hover; a dash where there is none. */
export function numberCell(number, format) {
  const missing = number === null || number === undefined;
  return make("td", { class: "ev-numeric", title: missing ? null : exact(number) }, missing ? "–" : format(number));
}

const coordinate = (points, token, count, at) => (points ? points[token * count + at] : null);

/** The length of a vector. */
function norm(values) {
  if (!values) return null;
  let squares = 0;
  for (const value of values) squares += value * value;
  return Math.sqrt(squares);
}

/** The head of a row is a button: one of a table can be tabbed to, the arrow keys reach the others. */
export const rowHead = (index) => make("th", { scope: "row" }, make("button", { type: "button", tabindex: "-1" }, index));

/** One row a dimension of the selected token. */
function fillDims({ titles, head, body }, view) {
  const { parts, token } = current();
  for (const title of titles) title.replaceChildren(text("tables.dims", { token }), " ", piece(parts.tokens[token]));
  if (body.childElementCount !== parts.width || view.parts !== PARTS.join()) {
    head.replaceChildren(
      make("tr", {}, heading(text("tables.dim")), ...PARTS.map((name) => heading(text(`part.${name}`), name))),
    );
    view.parts = PARTS.join();
    view.cells = Array.from({ length: parts.width }, () => PARTS.map(() => make("td", { class: "ev-numeric" })));
    body.replaceChildren(...view.cells.map((cells, dim) => make("tr", { "data-dim": dim }, rowHead(dim), ...cells)));
    view.token = -1;
  }
  const values = PARTS.map((name) => row(name, token));
  view.cells.forEach((cells, dim) =>
    cells.forEach((cell, at) => {
      cell.textContent = values[at] ? signed(values[at][dim]) : "–";
      cell.title = values[at] ? exact(values[at][dim]) : (parts.rows[PARTS[at]].absent ?? "");
    }),
  );
}

/** Marks the selected row of a table and keeps it in sight of its own frame; `name` is "token" or "dim". */
export function markRow({ frame, head, body }, name) {
  const before = body.querySelector('[aria-current="true"]');
  const now = body.querySelector(`[data-${name}="${current()[name]}"]`);
  if (before !== now) {
    before?.removeAttribute("aria-current");
    before?.querySelector("button").setAttribute("tabindex", "-1");
  }
  if (!now) return;
  now.setAttribute("aria-current", "true");
  const button = now.querySelector("button");
  button.setAttribute("tabindex", "0");
  if (before && before !== now && before.contains(document.activeElement)) button.focus({ preventScroll: true });
  const top = now.offsetTop - head.offsetHeight;
  if (top < frame.scrollTop) frame.scrollTop = top;
  else if (now.offsetTop + now.offsetHeight > frame.scrollTop + frame.clientHeight)
    frame.scrollTop = now.offsetTop + now.offsetHeight - frame.clientHeight;
}

/** A click on a row selects it, and so do the arrow keys: `name` is "token" or "dim". */
export function listenTo(body, name) {
  body.addEventListener("click", (event) => {
    const index = event.target.closest("tr")?.dataset[name];
    if (index !== undefined) select({ [name]: Number(index) });
  });
  body.addEventListener("keydown", (event) => {
    const last = name === "token" ? current().parts.total - 1 : current().parts.width - 1;
    const target = { ArrowUp: current()[name] - 1, ArrowDown: current()[name] + 1, Home: 0, End: last }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    select({ [name]: target });
  });
}
