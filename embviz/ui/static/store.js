// One store for the page: the numbers that the server sent last, and what is selected. Views subscribe to topics
// and are told once per frame, however often something changed in between; selecting asks the server nothing.

const ALL_PARTS = ["token", "segment", "position", "constant", "summed", "normalized", "output"];

/**
 * The parts of the model on the page; few models add a constant, and the output is another than the LayerNorm's only
 * after dropout. Those that the model lacks have their places too.
 */
export let PARTS = ALL_PARTS.filter((name) => name !== "constant" && name !== "output");

const state = {
  parts: null, // the decomposition, decoded (docs/payload.md)
  map: null, // the projection, as sent
  token: 2, // selected token, an index into all tokens
  dim: 99, // selected dimension
  hovered: null, // token under the pointer, or null
  range: "quantile", // "quantile" (99.5 % of the values) or "full"
  locked: null, // {parts, normalized}: limits kept for the next inputs, or null
  stale: null, // {key, ref}: why something else is shown than what was asked for, or null
  awaited: null, // the query that the page's address keeps while something else is shown in its place
  first: null, // {token, dim} of the page's address, until what the address names is here
  wanted: undefined, // token to select as soon as its window is here
};

const listeners = {
  parts: new Set(),
  map: new Set(),
  selection: new Set(),
  hover: new Set(),
  colours: new Set(),
  window: new Set(),
  stale: new Set(),
};
const pending = new Set();
let frame = 0;

/** Calls `listener(state)` when one of the topics has changed; at once where there is something to show already. */
export function subscribe(topics, listener) {
  for (const topic of topics) listeners[topic].add(listener);
  if (state.parts) listener(state);
}

/** Marks a topic as changed; everyone who listens is told in the next frame. */
export function changed(...topics) {
  for (const topic of topics) pending.add(topic);
  if (!frame) frame = requestAnimationFrame(tell);
}

function tell() {
  frame = 0;
  const due = new Set();
  for (const topic of pending) for (const listener of listeners[topic]) due.add(listener);
  pending.clear();
  if (!state.parts) return;
  for (const listener of due) {
    try {
      listener(state);
    } catch (error) {
      console.error(error); // one view that fails must not keep the others from drawing
    }
  }
}

export const current = () => state;

/** The Recipe of what is on the page, as a URL query; the map may have been drawn with other choices than the rest. */
export const query = () => state.map?.query ?? state.parts?.query ?? "";

/** Takes `parts` from the server. */
export function receiveParts(json) {
  const sent = JSON.parse(json);
  PARTS = ALL_PARTS.filter((name) => sent.parts[name] !== undefined);
  sent.rows = Object.fromEntries(PARTS.map((name) => [name, decodeRows(sent.parts[name])]));
  unpackOperands(sent);
  if (sent.what_if?.before) {
    const before = sent.what_if.before;
    before.rows = Object.fromEntries(Object.entries(before.parts).map(([name, part]) => [name, decodeRows(part)]));
    unpackOperands(before);
  }
  for (const stage of Object.values(sent.what_if?.moved ?? {})) stage.cosine = floats(stage.cosine);
  if (sent.changes?.changed) decodeChanges(sent.changes);
  state.parts = sent;
  state.hovered = null;
  Object.assign(state, state.first); // an example that stands in for it may have fewer tokens or dimensions
  const inWindow = state.token >= sent.start && state.token < sent.stop;
  if (state.wanted !== undefined && state.wanted >= sent.start && state.wanted < sent.stop) state.token = state.wanted;
  else if (!inWindow) state.token = Math.max(sent.start, Math.min(state.token, sent.stop - 1));
  state.wanted = undefined;
  state.dim = Math.min(state.dim, sent.width - 1);
  changed("parts", "selection", "colours");
}

/** Takes `map` from the server. */
export function receiveMap(json) {
  const sent = JSON.parse(json);
  for (const points of Object.values(sent.coordinates ?? {}))
    for (const name of Object.keys(points ?? {})) points[name] = floats(points[name]);
  state.map = sent;
  changed("map");
}

/** Says that something else was asked for than is shown, or with null that it is shown now. */
export function setStale(stale, awaited = null) {
  state.awaited = stale ? (awaited ?? state.awaited) : null;
  state.stale = stale || null;
  if (!stale) setTimeout(() => (state.first = null)); // the numbers that end the waiting come in the same moment
  changed("stale");
}

/** Selects a token, a dimension or both; a token outside the window is asked for. */
export function select({ token = state.token, dim = state.dim }) {
  const sent = state.parts;
  if (!sent) return;
  state.first = null; // the user went elsewhere
  token = Math.max(0, Math.min(token, sent.total - 1));
  dim = Math.max(0, Math.min(dim, sent.width - 1));
  if (token < sent.start || token >= sent.stop) {
    state.wanted = token;
    state.dim = dim;
    changed("window");
    return;
  }
  if (token === state.token && dim === state.dim) return;
  Object.assign(state, { token, dim });
  changed("selection");
}

/** Says what to select once the first numbers are here: it comes from the page's address. */
export function selectFirst(token, dim) {
  state.first = {};
  if (Number.isInteger(token)) state.wanted = state.first.token = state.token = token;
  if (Number.isInteger(dim)) state.first.dim = state.dim = dim;
}

/** Forgets the token that was waited for: the user went elsewhere. */
export function forgetWanted() {
  state.wanted = undefined;
}

/** Marks the token under the pointer, or none. */
export function hover(token) {
  if (token === state.hovered) return;
  state.hovered = token;
  changed("hover");
}

/** The vector of one part of one token, or null where the part is absent or the token outside the window. */
export const row = (name, token) => rowOf(state.parts.rows[name], token);

/** What a what-if added to the numbers of one stage of one token, or null. */
export const changedRow = (name, token) => rowOf(state.parts.changes?.rows?.[name], token);

function rowOf(part, token) {
  const sent = state.parts;
  if (!part || part.absent || token < sent.start || token >= sent.stop) return null;
  const at = part.index[token - sent.start] * sent.width;
  return part.values.subarray(at, at + sent.width);
}

/** The same vector before the changes; the present one where it did not change, null where there was none. */
export function rowBefore(name, token) {
  const sent = state.parts;
  const part = sent.what_if?.before?.rows[name];
  if (!part) return sent.rows[name]?.absent === undefined ? row(name, token) : null;
  if (token < sent.start || token >= sent.stop) return null;
  const at = part.index[token - sent.start] * sent.width;
  return part.values.subarray(at, at + sent.width);
}

/** Whether a what-if has given a token another vector of this part. */
export function isChanged(name, token) {
  if (!state.parts.what_if?.before?.rows[name]) return false;
  const [now, before] = [row(name, token), rowBefore(name, token)];
  return !now || now.some((value, d) => !Object.is(value, before[d]));
}

/** Which of the two colour scales a part is painted with. */
export const scaleOf = (name) => (name === "normalized" || name === "output" ? "normalized" : "parts");

/** The limit of a colour scale: everything from −limit to +limit has a colour of its own. */
export function limit(scale) {
  if (state.locked) return state.locked[scale];
  const { limit: quantile, min, max } = state.parts.scale[scale] ?? { limit: 1, min: -1, max: 1 };
  return state.range === "full" ? Math.max(Math.abs(min), Math.abs(max)) : quantile;
}

/** How many cells of the window lie beyond the limit of their scale. */
export function clipped(scale) {
  const sent = state.parts;
  const beyond = limit(scale);
  let count = 0;
  for (const name of PARTS) {
    if (scaleOf(name) !== scale) continue;
    for (let token = sent.start; token < sent.stop; token++)
      for (const value of row(name, token) ?? []) if (Math.abs(value) > beyond) count++;
  }
  return count;
}

/** Changes the range of the colours, or locks it for the next inputs. */
export function setScale({ range = state.range, lock = state.locked !== null }) {
  state.range = range;
  if (!lock) state.locked = null;
  else if (!state.locked) state.locked = { parts: limit("parts"), normalized: limit("normalized") };
  changed("colours");
}

/** Base64 of little-endian float32 as numbers. */
function floats(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

/** The LayerNorm's operands, from base64 to numbers. */
function unpackOperands(sent) {
  for (const name of ["mean", "std", "weight", "bias"]) sent[name] = sent[name] ? floats(sent[name]) : null;
}

function decodeChanges(changes) {
  for (const name of Object.keys(changes.rows)) changes.rows[name] = decodeRows(changes.rows[name]);
  for (const numbers of [changes.distances, changes.lens])
    for (const name of Object.keys(numbers)) numbers[name] = floats(numbers[name]);
}

/** The distinct rows of a part and the row of each token, or why there are none. */
export function decodeRows(part) {
  return part.absent !== undefined ? { absent: part.absent } : { values: floats(part.rows), index: part.index };
}
