// Small helpers for making elements. Text is always set as text, never as markup.

export const find = (selector, within = document) => within.querySelector(selector);

export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function problemBox(failure, ...more) {
  const told = failure.told ?? { message: String(failure.message ?? failure), fix: "" };
  return make("div", { class: "problem", role: "alert" },
    make("p", { class: "what" }, told.message),
    told.fix ? make("p", { class: "fix" }, told.fix) : null,
    more.length ? make("div", { class: "row" }, ...more) : null);
}

// A number for people: digits in groups, no more of them than mean something.
export function figure(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  const most = size >= 1000 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size || 1)));
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(most, 12) });
}

// Waits until nothing has happened for a while.
export function later(wait, work) {
  let timer = 0;
  const again = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), wait);
  };
  again.stop = () => clearTimeout(timer);
  return again;
}
