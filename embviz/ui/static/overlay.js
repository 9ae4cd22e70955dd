// Marks over a flat figure: the selected and the hovered token. They are an SVG of our own above Plotly's, because
// moving a mark must take less than a frame and Plotly, asked to move one, lays out the whole figure again.

const SVG = "http://www.w3.org/2000/svg";

/** A layer of marks over `figure`; `draw(marks)` replaces them. */
export function createOverlay(figure) {
  const layer = shape("svg", { class: "ev-overlay", "aria-hidden": "true" });
  figure.plot.after(layer);
  return { draw: (marks) => layer.replaceChildren(...marks) };
}

/** How numbers become pixels of the figure, for one pair of its axes; null while there is no flat figure. */
export function scaleOfAxes(plot, x = "x", y = "y") {
  const across = plot._fullLayout?.[x.replace("x", "xaxis")];
  const down = plot._fullLayout?.[y.replace("y", "yaxis")];
  if (!across?.l2p || !down?.l2p) return null;
  return {
    x: (value) => across._offset + across.l2p(value),
    y: (value) => down._offset + down.l2p(value),
    left: across._offset,
    right: across._offset + across._length,
    top: down._offset,
    bottom: down._offset + down._length,
  };
}

/** Whether a point is within the panel; one that was zoomed away has no mark. */
export const within = (scale, [x, y]) => x >= scale.left && x <= scale.right && y >= scale.top && y <= scale.bottom;

export function line([x1, y1], [x2, y2], colour, width) {
  return shape("line", { x1, y1, x2, y2, stroke: colour, "stroke-width": width, "stroke-linecap": "round" });
}

export function ring([cx, cy], r, colour, width) {
  return shape("circle", { cx, cy, r, fill: "none", stroke: colour, "stroke-width": width });
}

/** A rectangle between two corners, cut to the panel. */
export function box(scale, [x0, y0], [x1, y1], colour, width) {
  const [left, right] = [Math.max(scale.left, Math.min(x0, x1)), Math.min(scale.right, Math.max(x0, x1))];
  const [top, bottom] = [Math.max(scale.top, Math.min(y0, y1)), Math.min(scale.bottom, Math.max(y0, y1))];
  if (right <= left || bottom <= top) return shape("g", {});
  return shape("rect", {
    x: left,
    y: top,
    width: right - left,
    height: bottom - top,
    rx: 1.5,
    fill: "none",
    stroke: colour,
    "stroke-width": width,
  });
}

/** A name, in a halo that keeps it apart from what lies below. */
export function label([x, y], content, colour, halo) {
  const element = shape("text", {
    x,
    y,
    fill: colour,
    stroke: halo,
    "stroke-width": 4,
    "paint-order": "stroke",
    "text-anchor": "middle",
  });
  element.textContent = content;
  return element;
}

function shape(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
