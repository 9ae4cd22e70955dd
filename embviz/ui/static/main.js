// Where the page begins: the views by name, and the few words that Python's wires exchange with them.

import { followAddress } from "./address.js";
import { besideSettled, mountBeside, openFromAddress } from "./beside.js";
import { mountCell } from "./cell.js";
import { mountChanges } from "./changes.js";
import { watchTheme } from "./colours.js";
import { loadPlotly, preloadPlotly } from "./figure.js";
import { mountCard, mountExamples, mountNotice, tellFailure } from "./form.js";
import { mountFooter, mountHeader } from "./header.js";
import { mountHeatmaps } from "./heatmaps.js";
import { layersSettled, mountLayers } from "./layers.js";
import { mountOpening, notOpened } from "./opening.js";
import { mountProjection, options } from "./projection.js";
import { receiveMap, receiveParts, subscribe } from "./store.js";
import { mountStrip } from "./strip.js";
import { mountTables } from "./tables.js";
import { over, turn } from "./turns.js";
import { carried, changesAnswered, dropChanges } from "./whatif.js";
import { mountWhatIf } from "./whatifpanel.js";

/** A view that only brings numbers: each new value goes to the store. */
const mailbox = (receive) => (element, gradio) => {
  const take = () => gradio.props.value && receive(gradio.props.value);
  gradio.watch("value", take);
  take();
};

const views = {
  header: mountHeader,
  footer: mountFooter,
  notice: mountNotice,
  parts: mailbox(receiveParts),
  map: mailbox(receiveMap),
  examples: mountExamples,
  modelcard: mountCard,
  opening: mountOpening,
  strip: mountStrip,
  projection: mountProjection,
  heatmaps: mountHeatmaps,
  changes: mountChanges,
  layers: mountLayers,
  tables: mountTables,
  beside: mountBeside,
  cell: mountCell,
  whatif: mountWhatIf,
};

window.embviz = {
  /** Draws the view of that name into an element; Gradio's component calls it. */
  mount: (name, element, gradio) => views[name](element, gradio),
  /** What goes along with Show when its turn comes: the choices above the map and the changes, as JSON. */
  async ask(sentence, pair) {
    await turn();
    const what_if = carried(sentence, pair);
    dropChanges();
    window.embviz.busy();
    return JSON.stringify({ ...options, what_if });
  },
  /** A question was sent to the server. */
  busy() {
    document.body.classList.add("ev-busy");
    tellFailure(false);
  },
  /** It was answered, one way or the other. */
  settled() {
    document.body.classList.remove("ev-busy");
    over();
  },
  /** A question about changes was answered. */
  changed() {
    window.embviz.settled();
    changesAnswered();
  },
  /** The server could not answer: not a user's mistake, for which there is a sentence at its field. */
  failed: () => tellFailure(true),
  /** The comparison of the tab Side by side was answered, or with `failed` it was not. */
  besideSettled,
  /** The same of the question of the tab Layers. */
  layersSettled,
  /** The same of a model's opening. */
  notOpened() {
    notOpened();
    tellFailure(true);
  },
};

/** The arrow keys move along a row of tabs, as they do in other programs. */
function moveAlongTabs(event) {
  const tab = event.target.closest?.('[role="tab"]');
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!tab || !step) return;
  const tabs = [...tab.closest('[role="tablist"]').querySelectorAll('[role="tab"]')];
  const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
  event.preventDefault();
  next.click();
  next.focus();
}

watchTheme();
followAddress();
openFromAddress();
document.addEventListener("keydown", moveAlongTabs);
// The strip and the cell come first: plotly.js travels meanwhile, and is read as soon as they stand, or when the
// server takes so long that there is time for it anyway.
preloadPlotly();
const readPlotly = () => loadPlotly().catch(console.error);
subscribe(["parts"], () => (window.requestIdleCallback ?? setTimeout)(readPlotly));
setTimeout(readPlotly, 1500);
