// Small helpers for making elements. Text is always set as text, never as markup.

import { toldOnPage } from "./problems.js";

export const find = (selector, within = document) => within.querySelector(selector);

// Letters that reorder what stands beside them are written out: others wrote some of the text.
const ORDERING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const seen = (child) => typeof child !== "string" ? child
  : child.replace(ORDERING, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined).map(seen));
  return made;
}

// A failure in words; a calm one is not called out, because somebody is still typing.
export function problemBox(failure, { calm = false, pays = false, offers = [] } = {}) {
  const told = toldOnPage(failure, { pays, offers: offers.length > 0 });
  return make("div", { class: calm ? "problem calm" : "problem", role: calm ? null : "alert" },
    make("p", { class: "what" }, told.message),
    told.fix ? make("p", { class: "fix" }, told.fix) : null,
    offers.length ? make("div", { class: "row" }, ...offers) : null);
}

// A button that works is not pressed again; who pressed it by the keyboard finds it where it was.
export function working(button) {
  const had = document.activeElement === button;
  button.disabled = true;
  return () => {
    button.disabled = false;
    if (had && document.activeElement === document.body) button.focus({ preventScroll: true });
  };
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
