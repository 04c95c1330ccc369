// A public table beside the data, pasted as CSV: its first line names the columns, one of them the key.

import { figure, make } from "./dom.js";

const MOST_BYTES = 48000; // a request holds 65,536, and more than this table
const WHOLE = /^-?(?:0|[1-9][0-9]{0,14})$/;

// The lines of a CSV text, with tab, semicolon or comma between values and quotes around some.
export function csvLines(text) {
  const first = text.split("\n", 1)[0];
  const between = first.includes("\t") ? "\t" : first.includes(";") && !first.includes(",") ? ";" : ",";
  const lines = [[]];
  let value = "";
  let quoted = false;
  const end = () => { lines.at(-1).push(value.trim()); value = ""; };
  for (let i = 0; i < text.length; i += 1) {
    const letter = text[i];
    if (quoted && letter === '"' && text[i + 1] === '"') { value += '"'; i += 1; }
    else if (quoted && letter === '"') quoted = false;
    else if (!quoted && letter === '"' && value.trim() === "") { quoted = true; value = ""; }
    else if (!quoted && letter === between) end();
    else if (!quoted && letter === "\n") { end(); lines.push([]); }
    else if (letter !== "\r") value += letter;
  }
  end();
  return lines.filter((line) => line.some((one) => one !== ""));
}

let lookupsMade = 0;

export class LookupForm {
  constructor(columns, removed) {
    lookupsMade += 1;
    const id = (what) => `lookup-${lookupsMade}-${what}`;
    const field = (label, input) => make("div", { class: "field" }, make("label", { for: input.id }, label), input);
    this.named = make("input", { id: id("name"), autocapitalize: "none", spellcheck: "false", maxlength: "60", placeholder: "region" });
    this.key = make("select", { id: id("key") });
    this.text = make("textarea", { id: id("rows"), rows: "5", spellcheck: "false", wrap: "off", maxlength: "400000", "aria-describedby": id("says") });
    this.says = make("p", { class: "hint", id: id("says") });
    this.element = make("div", { class: "lookup stack inner" },
      make("div", { class: "row end" }, field("Name of the table", this.named), field("Its key is the column", this.key),
        make("button", { type: "button", class: "quiet danger", onclick: () => { this.element.remove(); removed(); } }, "Leave it out")),
      field("Its rows, as CSV", this.text), this.says);
    this.element.addEventListener("input", () => this.#say());
    this.key.addEventListener("change", () => this.#say());
    this.among(columns);
  }

  // Another file may have other columns.
  among(columns) {
    const before = this.key.value;
    this.key.replaceChildren(make("option", { value: "" }, "decide…"), ...columns.map((one) => make("option", { value: one.name }, one.name)));
    this.key.value = columns.some((one) => one.name === before) ? before : "";
    this.#say();
  }

  get name() { return this.named.value.trim(); }

  get problem() {
    const [head = [], ...rows] = csvLines(this.text.value);
    if (!this.name) return "a name";
    if (!this.key.value) return "which column is its key";
    if (!rows.length) return "its rows, below a line that names the columns";
    if (!head.includes(this.key.value)) return `a column ${this.key.value} in its first line, which names the columns`;
    if (head.length < 2) return "a column besides the key";
    if (head.includes("") || new Set(head).size !== head.length) return "a first line that names every column, each once";
    const wrong = rows.findIndex((row) => row.length !== head.length);
    if (wrong >= 0) return `${head.length} values in row ${wrong + 1}, where ${rows[wrong].length} are`;
    const bytes = new TextEncoder().encode(JSON.stringify(this.#read().rows)).length;
    return bytes <= MOST_BYTES ? "" : `fewer rows: they take ${figure(bytes)} bytes, and at most ${figure(MOST_BYTES)} can be sent from here; `
      + "write a larger table into the policy's file, and register that";
  }

  // Whole numbers are numbers where all values of a column are; everything else is text. What the
  // key is follows from its column, and what is empty is left out.
  #read() {
    const [head = [], ...rows] = csvLines(this.text.value);
    const numbers = head.filter((name, at) => name !== this.key.value
      && rows.some((row) => row[at]) && rows.every((row) => !row[at] || WHOLE.test(row[at])));
    const value = (name, text) => (numbers.includes(name) ? Number(text) : text);
    const made = rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ""])
      .filter(([, text]) => text !== "").map(([name, text]) => [name, value(name, text)])));
    return { head, rows: made, numbers };
  }

  value() { return { key: this.key.value, rows: this.#read().rows }; }

  #say() {
    const { head, rows, numbers } = this.#read();
    const others = head.filter((name) => name && name !== this.key.value);
    this.says.textContent = this.text.value.trim() === ""
      ? `Paste them from a spreadsheet: ${this.key.value || "dept"},area on the first line, then one line for each value of the key.`
      : this.problem ? `Still missing: ${this.problem}.`
        : `${figure(rows.length)} row${rows.length === 1 ? "" : "s"}; ${others.map((name) => `${name}: ${numbers.includes(name) ? "whole numbers" : "text"}`).join(", ")}.`;
  }
}
