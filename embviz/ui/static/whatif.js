// What if: the changes of the Recipe. The Recipe's own list is what counts; a control edits the list, and what comes
// back from the server says what the controls show. One question at a time is under way, and the last state of a slider
// that moved meanwhile follows it.

import { current, query } from "./store.js";
import { over, turn } from "./turns.js";

export const SEGMENT_MODES = ["SwapSegments", "AllSegments", "MeanSegments", "SetSegments"];
export const POSITION_MODES = ["ShiftPositions", "ReversePositions", "ShufflePositions", "ConstantPosition", "SetPositions"];
const LOCAL = ["FlipSegment", "MovePosition", "ReplaceToken", "SetSegments", "SetPositions"];

let gradio = null;
let wanted = null; // the list that was asked for last and is not on the page yet
let under = false; // whether a question is under way
let again = false; // whether `wanted` has changed since it was asked
let refresh = () => {};

/** Names the component that asks the server, and what is done when an answer has come. */
export function connect(component, onanswer) {
  gradio = component;
  refresh = onanswer;
}

/** Whether a question is under way. */
export const isUnderWay = () => under;

/** The changes of the moment, as in the Recipe's JSON: those on the page, or those that were asked for. */
export const changes = () => wanted ?? current().parts?.recipe?.what_if ?? [];

/** What stays for the next input: all changes for the same sentences, those of no token in particular for others. */
export function carried(sentences, pair) {
  const recipe = current().parts?.recipe;
  const same = recipe && sentences === recipe.text && (pair?.trim() ? pair : null) === recipe.text_pair;
  return same ? changes() : changes().filter((change) => !LOCAL.includes(change.type));
}

/** Why a kind of change means nothing for this model, or undefined. */
export const refusal = (kind) => current().parts?.what_if?.refused[kind];

/** The token goes to the other segment, or back. */
export function flipSegment(index) {
  if (refusal("FlipSegment")) return;
  const flipped = changes().some((change) => change.type === "FlipSegment" && change.index === index);
  replace((change) => change.type === "FlipSegment" && change.index === index, flipped ? null : { type: "FlipSegment", index });
}

/** The token gets another row of the position table; its own row takes the change back. */
export function movePosition(index, position) {
  if (refusal("MovePosition")) return;
  const mine = (change) => change.type === "MovePosition" && change.index === index;
  const others = changes().some((change) => POSITION_MODES.includes(change.type));
  const own = current().parts.what_if.before?.tokens[index].position ?? current().parts.tokens[index].position;
  replace(mine, position === own && !others ? null : { type: "MovePosition", index, position });
}

/** Takes back a change that stands on the page at this place. */
export function takeBack(at) {
  const wording = JSON.stringify(current().parts.recipe.what_if[at]);
  const list = [...changes()];
  const place = list.findIndex((change) => JSON.stringify(change) === wording);
  if (place >= 0) send(list.toSpliced(place, 1));
}

/** Takes all changes back. */
export const reset = () => send([]);

/** The question about changes was answered, one way or the other. */
export function changesAnswered() {
  under = false;
  if (again) return ask();
  wanted = null;
  refresh();
}

/** Forgets what was asked for and has not had its turn: another input is asked for, and takes along what it keeps. */
export function dropChanges() {
  wanted = null;
  again = false;
}

/** Puts a change where the first that matches stood, or at the end; with null it is only taken away. */
export function replace(matches, change) {
  const list = changes();
  const at = list.findIndex(matches);
  const kept = list.filter((one) => !matches(one));
  if (change) kept.splice(at < 0 ? kept.length : at, 0, change);
  send(kept);
}

function send(list) {
  if (JSON.stringify(list) === JSON.stringify(changes())) return;
  wanted = list;
  again = under;
  if (!under) ask();
}

async function ask() {
  again = false;
  under = true;
  await turn();
  if (wanted === null) {
    over();
    return changesAnswered();
  }
  again = false; // what was moved while this one waited for its turn goes with it
  window.embviz.busy();
  gradio.trigger("change", { query: query(), what_if: wanted, start: current().parts.start });
}
