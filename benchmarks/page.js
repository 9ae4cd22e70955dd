// Clocks for the benchmarks, put into the page before its own scripts run.
window.clocks = (() => {
  const QUIET = 400; // ms without a change that mean that nothing more comes
  // What may change later without delaying the drawing: the verified mark.
  const aside = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest("#embviz-card");

  /** Resolves with the time of the last change of the document, once it has been quiet; the paint of it included. */
  function settled(started) {
    return new Promise((resolve) => {
      let last = null;
      const observer = new MutationObserver((records) => {
        if (!records.every((record) => aside(record.target))) afterPaint().then((at) => (last = at));
      });
      observer.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
      const timer = setInterval(() => {
        if (last === null || performance.now() - last < QUIET) return;
        clearInterval(timer);
        observer.disconnect();
        resolve(last - started);
      }, 20);
    });
  }

  /** Resolves with the time when the coming frame has been painted. */
  function afterPaint() {
    return new Promise((resolve) =>
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => resolve(performance.now());
        channel.port2.postMessage(null);
      }),
    );
  }

  const store = () => import(document.baseURI.replace(/[^/]*$/, "") + JSON.parse(document.getElementById("embviz-boot").textContent).base + "/store.js");

  /** Milliseconds from pressing a button until every visible view is painted. */
  async function press(selector) {
    const started = performance.now();
    const done = settled(started);
    document.querySelector(selector).click();
    return done;
  }

  /** Milliseconds that drawing everything again takes, with the numbers that are here. */
  async function draw() {
    const { changed } = await store();
    const started = performance.now();
    const done = settled(started);
    changed("parts", "map", "selection", "colours");
    return done;
  }

  /** Milliseconds of work and painting that lighting up one token costs in all views, within its frame. */
  async function hover(token) {
    const { hover } = await store();
    return new Promise((resolve) => {
      let started = 0;
      requestAnimationFrame(() => (started = performance.now()));
      hover(token);
      afterPaint().then((at) => resolve(at - started));
    });
  }

  /** Milliseconds of the round trip of an event that does next to nothing: the bare page turns its text round. */
  async function roundTrip(text) {
    const box = document.querySelector("textarea");
    const turned = [...text].reverse().join("");
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(box, text);
    box.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await afterPaint();
    const started = performance.now();
    box.dispatchEvent(new KeyboardEvent("keypress", { key: "Enter", bubbles: true }));
    while (box.value !== turned) await new Promise((resolve) => setTimeout(resolve, 1));
    return (await afterPaint()) - started;
  }

  return { press, draw, hover, roundTrip };
})();
