// The forms for publishing once: a histogram or a map, or a roll-up, which is written in SQL.

import { post } from "./api.js";
import { find, make } from "./dom.js";
import { nameInSql } from "./sql.js";

const SAYS = {
  sql: "Answered once, for its price.",
  histogram: "Charged once; then every range, share and quantile of the column is free, for ever.",
  map: "Charged once; then every rectangle over both columns is free, for ever.",
  rollup: "Counts of all levels, charged once, which add up: the parts of every group, and everybody.",
};
const LACKS = {
  histogram: "A histogram needs a column of numbers with declared bounds.",
  map: "A map needs two columns of numbers with declared bounds.",
  rollup: "A roll-up needs a column with keys.",
};
const MOST_KEYS_DEEP = 3;
const CELLS = { histogram: 1024, map: 64 };

function chosen(columns, label, id, { none = null } = {}) {
  const select = make("select", { id },
    ...(none === null ? [] : [make("option", { value: "" }, none)]),
    ...columns.map((one) => make("option", { value: one.name }, one.name)));
  return { select, element: make("div", { class: "field" }, make("label", { for: id }, label), select) };
}

function numberField(label, id) {
  const input = make("input", { id, class: "number", inputmode: "decimal", autocomplete: "off", maxlength: "30" });
  return { input, element: make("div", { class: "field" }, make("label", { for: id }, label), input) };
}

class AxisForm {
  constructor(columns, place, most, changed) {
    this.columns = columns;
    this.most = most;
    const id = (what) => `axis-${place}-${what}`;
    this.column = chosen(columns, place ? "and" : "Column", id("column"));
    this.low = numberField("from", id("low"));
    this.high = numberField("to", id("high"));
    this.bins = numberField("in cells", id("bins"));
    this.element = make("div", { class: "row end axis" }, ...[this.column, this.low, this.high, this.bins].map((one) => one.element));
    if (place && columns.length > 1) this.column.select.selectedIndex = 1;
    this.column.select.addEventListener("change", () => { this.fill(); changed(); });
    for (const one of [this.low, this.high, this.bins]) one.input.addEventListener("input", changed);
    this.fill();
  }

  // What the owner declared; finer cells than the steps of the column there are none.
  fill() {
    const { axis } = this.columns.find((one) => one.name === this.column.select.value);
    this.low.input.value = axis.low;
    this.high.input.value = axis.high;
    this.bins.input.value = Math.min(axis.bins, this.most);
  }

  get name() { return nameInSql(this.column.select.value); }
  get range() { return [this.low.input.value.trim(), this.high.input.value.trim()]; }
  get cells() { return Number(this.bins.input.value.trim()) || 0; }
}

// Which of the forms is open, and what they say. `write` puts SQL into the editor.
export class Publishing {
  constructor(data, { changed, write }) {
    this.data = data;
    this.changed = changed;
    this.write = write;
    const withAxis = data.columns.filter((one) => one.axis !== null);
    this.numbers = [...withAxis].sort((a, b) => (b.kind === "number") - (a.kind === "number"));
    this.keys = data.columns.filter((one) => ["keys", "boolean"].includes(one.kind));
    this.box = find("#publishing");
    this.axes = [];
    const usable = { sql: true, histogram: this.numbers.length > 0, map: this.numbers.length > 1, rollup: this.keys.length > 0 };
    for (const one of document.querySelectorAll('input[name="mode"]')) {
      one.disabled = !usable[one.value];
      if (one.disabled) one.setAttribute("aria-describedby", "mode-lacks");
      one.checked = one.value === (usable[data.mode] ? data.mode : "sql");
      one.addEventListener("change", () => { this.open(); this.changed(); });
    }
    const lacking = Object.keys(LACKS).filter((one) => !usable[one]).map((one) => LACKS[one]);
    find("#mode-lacks").textContent = lacking.join(" ");
    find("#mode-lacks").hidden = lacking.length === 0;
    this.open();
  }

  get mode() { return find('input[name="mode"]:checked').value; }
  get isGrid() { return this.mode === "histogram" || this.mode === "map"; }

  open() {
    const { mode } = this;
    find("#mode-says").textContent = SAYS[mode];
    this.box.hidden = mode === "sql";
    for (const name of ["#in-sql", "#columns-of", "#ways-of", "#helpers"]) find(name)?.toggleAttribute("hidden", this.isGrid);
    find("#accuracy").hidden = mode !== "sql";
    this.axes = [];
    if (this.isGrid) this.box.replaceChildren(...this.#grid(mode));
    else if (mode === "rollup") this.box.replaceChildren(...this.#levels());
    else this.box.replaceChildren();
  }

  #grid(mode) {
    const many = mode === "map" ? 2 : 1;
    this.axes = Array.from({ length: many }, (_, i) => new AxisForm(this.numbers, i, CELLS[mode], this.changed));
    this.where = make("input", { id: "where", class: "mono wide", autocomplete: "off", spellcheck: "false", autocapitalize: "none",
      maxlength: "5000", placeholder: "all rows" });
    this.where.addEventListener("input", this.changed);
    return [...this.axes.map((one) => one.element),
      make("div", { class: "field gap" }, make("label", { for: "where" }, "Only rows where, in SQL"), this.where),
      make("p", { class: "soft small" }, "The ends are the declared bounds. Take cells as fine as any later question may need: "
        + "where nobody is they cost nothing, and the tree looks closer only where people are.")];
  }

  #levels() {
    const fields = Array.from({ length: Math.min(MOST_KEYS_DEEP, this.keys.length) }, (_, i) => (
      chosen(this.keys, i ? "then by" : "Count by", `level-${i}`, i ? { none: "no more" } : {})));
    const write = () => {
      const names = [...new Set(fields.map((one) => one.select.value).filter((one) => one !== ""))].map(nameInSql);
      const by = names.join(", ");
      this.write(`SELECT ${by}, COUNT(*) AS n\nFROM ${nameInSql(this.data.name)}\nGROUP BY ROLLUP (${by})`);
    };
    for (const one of fields) one.select.addEventListener("change", write);
    if (fields[1]) fields[1].select.selectedIndex = 2;
    write();
    return [make("div", { class: "row end" }, ...fields.map((one) => one.element)),
      make("p", { class: "soft small" }, "The coarsest first. The question below is written from this, and can be changed.")];
  }

  // What is published, as the API takes it.
  publication() {
    const said = { columns: this.axes.map((one) => one.name), bins: this.axes.map((one) => one.cells),
      ranges: this.axes.map((one) => one.range), dataset: this.data.name };
    const where = this.where.value.trim();
    if (where) said.where = where;
    return said;
  }
}

// What is known before publishing, in the form in which questions have it.
export async function foreseen(body, signal) {
  const told = await post("/api/publish/preview", body, { signal });
  const part = told.rehearsal.release.published.axes.length === 1 ? "a tenth of the range" : `each of ${told.parts} equal parts`;
  const columns = [
    { name: "one count, asked alone", error: null, within: told.alone, note: "whatever the data are" },
    { name: `a count in ${part}`, error: null, within: told.within, note: "in a rehearsal; it depends on where people are" },
  ];
  return {
    explain: { confidence: told.confidence, columns, text: told.rehearsal.question },
    points: [{ epsilon: body.epsilon, cost: told.cost, groups: null, columns }],
    caption: "How far off counts would be", note: "", rehearsal: told.rehearsal,
  };
}
