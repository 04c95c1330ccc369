// What is publicly known of each column: one decision each, with hints from names and types.

import { find, make } from "./dom.js";

const KINDS = [
  ["", "decide…"], ["hidden", "hidden"], ["keys", "keys: listed values"], ["range", "keys: whole numbers"],
  ["number", "number with bounds"], ["find", "number: bounds found"], ["dates", "date with bounds"], ["boolean", "yes or no"], ["text", "text: values not listed"],
];
const WHY = {
  hidden: "No question can use it.",
  keys: "Can be grouped by. List every value that it may have, also those that nobody has now.",
  range: "Can be grouped by: every whole number from the first to the last.",
  number: "Can be added up. What lies outside is counted as the nearest bound; steps say how exact it is.",
  find: "Can be added up. Nobody knows its bounds: the first question that needs them finds them privately, for this epsilon of the people's budget, once.",
  dates: "Can be grouped by month or year, and compared.",
  boolean: "Can be grouped by and counted.",
  text: "Can be compared in conditions. If these people's budget has a delta it can be grouped by, too, and values that enough people share are shown. "
    + "If none may ever be shown, say hidden.",
};
const HINTS = {
  hidden: "it names people", number: "a number", keys: "a category", range: "whole numbers, such as years",
  dates: "a date", boolean: "yes or no", text: "text",
};

function input(label, name, attributes = {}) {
  return make("label", { class: "choice small" }, make("span", {}, label),
    make("input", { "data-field": name, autocomplete: "off", maxlength: "40", ...attributes }));
}

const number = { inputmode: "decimal", class: "number" };
const FIELDS = {
  keys: () => [make("textarea", { "data-field": "keys", rows: "4", spellcheck: "false", placeholder: "one value on each line", "aria-label": "Values, one on each line" })],
  range: () => [input("from", "from", { ...number, placeholder: "2000" }), input("to", "to", { ...number, placeholder: "2024" })],
  number: () => [input("low", "low", { ...number, placeholder: "0" }), input("high", "high", number), input("steps of", "grid", { ...number, placeholder: "1" })],
  find: () => [input("for epsilon", "epsilon", { ...number, placeholder: "0.1" })],
  dates: () => [input("first", "first", { type: "date" }), input("last", "last", { type: "date" })],
};

// A column as a row to decide on. `changed` is told whenever something is decided.
export class Column {
  constructor(told, changed) {
    this.told = told;
    this.changed = changed;
    const title = `What is known of ${told.name}`;
    this.kind = make("select", { "aria-label": title },
      ...KINDS.map(([value, label]) => make("option", { value }, label)));
    this.said = make("div", { class: "said" });
    this.why = make("p", { class: "hint" });
    this.hint = told.kind === null || told.settled ? null : make("p", { class: "hint" },
      `Its ${told.because} suggests: ${HINTS[told.kind]}. `,
      make("button", { type: "button", class: "quiet", "aria-label": `${told.name}: take ${told.kind}`,
        onclick: () => { this.choose(told.kind); changed(); } }, "Take it"));
    this.row = make("div", { class: "to-decide open", "data-column": told.name },
      make("div", { class: "what" }, make("strong", {}, told.name), make("br"), make("span", { class: "hint" }, `stored as ${told.storage === "other" ? "something that cannot be used" : told.storage}`)),
      make("div", {}, this.kind, this.hint), make("div", {}, this.said, this.why));
    this.kind.addEventListener("change", () => { this.choose(this.kind.value); changed(); });
    if (told.settled) this.choose(told.kind);
  }

  choose(kind) {
    this.kind.value = kind;
    this.row.classList.toggle("open", kind === "");
    if (this.hint) this.hint.hidden = kind === this.told.kind;
    this.said.replaceChildren(...(FIELDS[kind]?.() ?? []));
    this.why.textContent = WHY[kind] ?? "";
    find("[data-field=epsilon]", this.said)?.addEventListener("input", this.changed);
    for (const field of this.said.querySelectorAll("[data-field]")) {
      if (!field.hasAttribute("aria-label")) field.setAttribute("aria-label", `${this.told.name}: ${field.dataset.field}`);
    }
  }

  // Bounds that are found cost something, which has to be said.
  get decided() {
    return this.kind.value !== "" && (this.kind.value !== "find" || find("[data-field=epsilon]", this.said).value.trim() !== "");
  }

  // As the API takes it; what is empty is left out, and the reader of the policy says what is missing.
  value() {
    const field = (name) => find(`[data-field="${name}"]`, this.said)?.value.trim() ?? "";
    const some = (...names) => Object.fromEntries(names.map((name) => [name, field(name)]).filter(([, value]) => value !== ""));
    switch (this.kind.value) {
      case "keys": {
        const keys = field("keys").split("\n").map((one) => one.trim()).filter((one) => one !== "");
        const of = { integer: "integer", date: "date", timestamp: "date" }[this.told.storage];
        return of ? { keys, of } : { keys };
      }
      case "range": return { ...some("from", "to"), ...(field("from") || field("to") ? {} : { from: "" }) };
      case "number": return { ...some("low", "high", "grid"), ...(field("low") || field("high") ? {} : { low: "" }) };
      case "find": return { find: true, ...some("epsilon") };
      case "dates": return { ...some("first", "last"), ...(field("first") || field("last") ? {} : { first: "" }) };
      default: return this.kind.value;
    }
  }
}
