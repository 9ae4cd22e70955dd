// Drawing only what can be seen: a view in a tab that is not open waits until it is.

/** Returns a function that calls `draw` now if `element` is on the page and shown, else as soon as it is. */
export function whenVisible(element, draw) {
  let due = false;
  const shown = () => element.isConnected && element.offsetParent !== null;
  const run = () => {
    due = false;
    draw();
  };
  new ResizeObserver(() => due && shown() && run()).observe(element);
  return () => {
    if (shown()) run();
    else due = true;
  };
}
