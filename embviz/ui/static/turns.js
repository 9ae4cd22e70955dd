// One question about the drawing at a time. A question is put together from what is on the page when its turn comes,
// so that no answer can be about an older page than the one before it, and none is overtaken.

const LONGEST = 60_000; // ms: an answer that never comes, from a server that is gone, must not hold up the page for ever

let last = Promise.resolve();
let finish = () => {};

/** Resolves when the questions before this one are answered; `over` must be called when this one is. */
export function turn() {
  const before = last;
  let done;
  last = new Promise((resolve) => (done = resolve));
  return before.then(() => {
    finish = done;
    setTimeout(done, LONGEST);
  });
}

/** The question under way was answered, one way or the other, or not asked after all. */
export const over = () => finish();
