// The page's address: the Recipe in the query, the selected token and dimension after the #. A Recipe that is too
// long for a server's request line stands after the # as well, as `r`; page.py reads it there. What the input is
// compared with side by side stands as `beside` where the Recipe stands.

import { current, query as shownQuery, selectFirst, subscribe } from "./store.js";

const LONGEST_QUERY = 6000; // characters: servers and proxies refuse a request line of more than some 8 KB

/** What the address names: the input on the page, or the one that is still being opened. */
const query = () => current().awaited ?? shownQuery();

/** Takes the selection from the address, and keeps the address up to date from then on. */
export function followAddress() {
  const found = new URLSearchParams(location.hash.slice(1));
  const whole = (name) => (/^\d{1,6}$/.test(found.get(name) ?? "") ? Number(found.get(name)) : undefined);
  selectFirst(whole("t"), whole("d"));
  subscribe(["parts", "map", "selection", "stale"], writeSoon);
}

let timer = 0;
function writeSoon() {
  clearTimeout(timer);
  timer = setTimeout(write, 150); // browsers refuse an address that changes too often
}

// The second input of "Side by side", a query within the query.
let second =
  new URLSearchParams(location.hash.slice(1)).get("beside") ?? new URLSearchParams(location.search).get("beside");

/** What the input on the page is compared with, as a query, or null. */
export const besideQuery = () => second;

/** Keeps what the input on the page is compared with in the address. */
export function setBeside(other) {
  second = other;
  writeSoon();
}

/** The link to the present view, for someone else: without the theme of this visit. */
export function link() {
  return `${location.origin}${location.pathname}${search(null)}${hash()}`;
}

function write() {
  const theme = new URLSearchParams(location.search).get("__theme");
  const next = search(theme) + hash();
  if (next !== location.search + location.hash) history.replaceState(history.state, "", location.pathname + next);
}

const isLong = () => query().length + (second === null ? 0 : encodeURIComponent(second).length) > LONGEST_QUERY;
const beside = () => (second === null ? "" : `beside=${encodeURIComponent(second)}`);

function search(theme) {
  const kept = [...(isLong() ? [] : [query(), beside()]), theme ? `__theme=${encodeURIComponent(theme)}` : ""].filter(Boolean);
  return kept.length ? `?${kept.join("&")}` : "";
}

function hash() {
  const { token, dim } = { ...current(), ...current().first };
  const recipe = isLong() ? [`r=${encodeURIComponent(query())}`, beside()] : [];
  return `#${[`t=${token}`, `d=${dim}`, ...recipe].filter(Boolean).join("&")}`;
}
