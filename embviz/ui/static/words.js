// The words of the page, by key, as Python put them into <head> from locales/<language>.json.

const boot = JSON.parse(document.getElementById("embviz-boot").textContent);

/** Where our own files lie, with the version that makes them safe to cache. */
export const base = boot.base;

/** Whether many share this server, which then opens no folders. */
export const isPublic = boot.public === true;

/** The text of a key; `{name}` is replaced by the value of that name. */
export function text(key, values = {}) {
  const template = boot.texts[key];
  if (template === undefined) return key;
  return template.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** A number with its sign and a true minus, as the cell panel shows it. */
export function signed(value, digits = 4) {
  if (!Number.isFinite(value)) return strange(value);
  return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
}

/** A number with a true minus. */
export function plain(value, digits = 4) {
  if (!Number.isFinite(value)) return strange(value);
  return (value < 0 ? "−" : "") + Math.abs(value).toFixed(digits);
}

/** What a checkpoint holds in place of a number. */
const strange = (value) => (Number.isNaN(value) ? "NaN" : value < 0 ? "−∞" : "+∞");

/** All that a float32 holds: nine significant digits. */
export function exact(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(9))) : String(value);
}
