// Charts of releases, by the chart library that comes when the page is usable already. Without it
// nothing is missing but the picture: every chart stands beside a table with the same numbers.

import { figure, make } from "./dom.js";
import { gridAxes, gridLayers, gridPicture, wholeTicks } from "./grids.js";

const MOST_BARS = 40;
const MOST_STEPS = 30;
const COLOURS = ["#3f8f99", "#d99a4e", "#7f70bd", "#b5617a", "#5b9bd5", "#6a9955"];
const DARK = matchMedia("(prefers-color-scheme: dark)");
let loading = null;

// The library's `embed`, once; null where it cannot be had.
export function charting() {
  const address = document.querySelector('meta[name="vega"]')?.content;
  loading ??= address ? import(address).then((made) => made.vegaEmbed, () => null) : Promise.resolve(null);
  return loading;
}

export function keyText(value) {
  if (value === null || value === undefined) return "(none)";
  if (typeof value === "object") return String(value.date ?? "");
  return String(value);
}

// A roll-up has the counts of several levels: an empty key stands for all of its values.
export const isRollup = (release) => /^GROUP BY ROLLUP \(/m.test(release.sql);
export const keyOf = (release, value) => (value === null && isRollup(release) ? "(all)" : keyText(value));
const named = (release, name) => release.columns.findIndex((one) => one.name === name);
export const keysOf = (release) => release.columns.filter((one) => one.key);

// The columns that can be drawn: numbers, those with intervals first.
export function drawable(release) {
  const numbers = release.columns.filter((one) => !one.key && ["int", "float", "none"].includes(one.kind));
  return [...numbers].sort((a, b) => (b.name in release.intervals) - (a.name in release.intervals));
}

function scaleOf(kind, values) {
  const some = new Set(values).size;
  if (kind === "date" && some > 2) return "temporal";
  if (kind === "int" || kind === "float") return some > MOST_STEPS ? "quantitative" : "ordinal";
  return kind === "date" ? "ordinal" : "nominal";
}

// Of a roll-up the finest groups are drawn: the others are their sums.
function finestLevel(release, column) {
  const keys = release.columns.map((one, place) => ({ ...one, place })).filter((one) => one.key);
  const places = release.rows.flatMap((row, i) => (keys.every((one) => row[one.place] !== null) ? [i] : []));
  const some = (values) => places.map((place) => values[place]);
  const intervals = Object.fromEntries(Object.entries(release.intervals).map(([name, values]) => [name, some(values)]));
  const drawn = picture({ ...release, sql: "", rows: some(release.rows), intervals }, column);
  return { ...drawn, told: `${drawn.told} Drawn: the finest groups; the table has their sums, too.`.trim() };
}

// What is drawn of a release: points along one key, a second key as colour, and what was left out.
export function picture(release, column, within = null) {
  if (gridAxes(release) !== null) return gridPicture(release, column);
  if (isRollup(release)) return finestLevel(release, column);
  const at = named(release, column);
  const keys = keysOf(release).filter((one) => one.name !== column);
  const places = keys.map((one) => named(release, one.name));
  const kinds = places.map((place, i) => scaleOf(keys[i].kind, release.rows.map((row) => row[place])));
  const ordered = (kind) => kind === "temporal" || kind === "quantitative";
  const different = (place) => new Set(release.rows.map((row) => keyText(row[place]))).size;
  let main = places.length ? 0 : -1;
  let split = -1;
  if (places.length === 2) {
    main = ordered(kinds[0]) === ordered(kinds[1])
      ? Number(different(places[1]) > different(places[0])) : Number(ordered(kinds[1]));
    split = 1 - main;
    const many = different(places[split]);
    if (many > COLOURS.length || (!ordered(kinds[main]) && release.rows.length > 60)) split = -1;
  }
  const joined = places.length > 2 || (places.length === 2 && split < 0);
  const label = (row) => (main < 0 ? column
    : joined ? places.map((place) => keyText(row[place])).join(" · ") : keyText(row[places[main]]));
  const scale = main < 0 || joined ? "nominal" : kinds[main];
  const ends = release.intervals[column] ?? [];
  const least = ends.length && ends.every((pair) => pair?.[0] >= 0) ? 0 : -Infinity; // counts end there
  let points = release.rows.map((row, i) => {
    const value = row[at];
    let [low, high] = ends[i] ?? [null, null];
    if (within !== null && value !== null) [low, high] = [Math.max(value - within, least), value + within];
    const where = scale === "temporal" ? `${label(row)}T00:00:00`
      : scale === "quantitative" ? row[places[main]] : label(row);
    return { main: where, split: split < 0 ? null : keyText(row[places[split]]), value, low, high };
  }).filter((one) => one.value !== null && (scale === "nominal" || scale === "ordinal" || one.main !== null));
  let told = "";
  const labels = new Set(points.map((one) => one.main));
  if (scale === "nominal" && labels.size > MOST_BARS) {
    const kept = new Set([...points].sort((a, b) => b.value - a.value).slice(0, MOST_BARS).map((one) => one.main));
    told = `Drawn: the ${kept.size} largest of ${figure(labels.size)} groups.`;
    points = points.filter((one) => kept.has(one.main));
  }
  const name = main < 0 ? "" : joined ? keys.map((one) => one.name).join(", ") : keys[main].name;
  return { column, points, scale, name, split: split < 0 ? null : keys[split].name, told };
}

export const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function config() {
  const [ink, soft, line] = ["--ink", "--soft", "--line"].map(colourOf);
  const font = colourOf("--sans");
  return {
    background: "transparent", font,
    view: { stroke: null },
    axis: { labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line,
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelLimit: 130, labelFlush: false },
    legend: { labelColor: ink, titleColor: soft, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", orient: "top", symbolType: "square" },
    range: { category: COLOURS },
  };
}

function layers(drawn) {
  const lines = drawn.scale === "temporal" || drawn.scale === "quantitative";
  const [bar, whisker] = ["--bar", "--whisker"].map(colourOf);
  const down = drawn.scale === "nominal";
  const [along, across] = down ? ["y", "x"] : ["x", "y"];
  const places = drawn.points.map((one) => one.main);
  const whole = drawn.scale === "quantitative" && places.every(Number.isInteger);
  const place = { [along]: { field: "main", type: drawn.scale, title: drawn.name || null,
    axis: { grid: false, ticks: false, labelPadding: 6, labelAngle: 0, ...(whole ? wholeTicks(Math.min(...places), Math.max(...places), 1) : {}) }, ...(lines ? {} : { sort: null }) } };
  const colour = drawn.split ? { color: { field: "split", type: "nominal", title: drawn.split, sort: null } } : {};
  if (drawn.split && !lines) place[`${along}Offset`] = { field: "split", type: "nominal", sort: null };
  const largest = Math.max(...drawn.points.map((one) => Math.abs(one.high ?? one.value)), 0);
  const value = { [across]: { field: "value", type: "quantitative", title: drawn.column,
    axis: { domain: false, ticks: false, tickCount: 5, labelOverlap: true, labelSeparation: 8, ...(largest >= 1e5 ? { format: "~s" } : {}) }, ...(lines ? {} : { stack: null }) } };
  const ends = { [across]: { field: "low", type: "quantitative" }, [`${across}2`]: { field: "high" } };
  const tooltip = [["main", drawn.name || drawn.column], ...(drawn.split ? [["split", drawn.split]] : []),
    ["value", drawn.column], ["low", "low"], ["high", "high"]].map(([field, title]) => ({ field, title,
    type: ["value", "low", "high"].includes(field) ? "quantitative" : field === "main" ? drawn.scale : "nominal",
    ...(["value", "low", "high"].includes(field) ? { format: ",.4~r" } : {}) }));
  const known = [{ filter: "isValid(datum.low) && isValid(datum.high)" }];
  if (lines) {
    const plain = drawn.split ? {} : { color: colourOf("--accent") };
    return [
      { transform: known, mark: { type: "area", opacity: 0.28, ...plain }, encoding: { ...place, ...ends, ...colour } },
      { mark: { type: "line", strokeWidth: 1.8, ...plain }, encoding: { ...place, ...value, ...colour, tooltip } },
    ];
  }
  const rule = { type: "rule", color: whisker, strokeWidth: 1.4 };
  const cap = { type: "tick", color: whisker, thickness: 1.4, size: 7 };
  return [
    { mark: { type: "bar", cornerRadiusEnd: 2, ...(drawn.split ? {} : { color: bar }) },
      encoding: { ...place, ...value, ...colour, tooltip } },
    { transform: known, mark: rule, encoding: { ...place, ...ends } },
    ...["low", "high"].map((end) => ({ transform: known, mark: cap,
      encoding: { ...place, [across]: { field: end, type: "quantitative" } } })),
  ];
}

function specification(drawn, label) {
  const many = new Set(drawn.points.map((one) => one.main)).size;
  const colours = drawn.split ? new Set(drawn.points.map((one) => one.split)).size : 1;
  const height = drawn.scale === "nominal" ? many * Math.max(30, 13 * colours + 8) : drawn.grid?.length === 2 ? 360 : 260;
  const shades = { bar: colourOf("--bar"), whisker: colourOf("--whisker"), heat: [colourOf("--wash"), colourOf("--accent")] };
  return {
    data: { name: "points", values: drawn.points }, width: "container", height, description: label,
    autosize: { type: "fit-x", contains: "padding" }, layer: drawn.grid ? gridLayers(drawn, shades) : layers(drawn),
  };
}

// Draws a Vega-Lite specification into a box, in the colours of the page; the view, or null where
// there are no charts. The options are those that live with the page's policy: no eval, no styles.
export async function embedded(box, spec) {
  const embed = await charting();
  if (embed === null || !box.isConnected) return null;
  const inner = make("div", { class: "drawing" });
  box.replaceChildren(inner);
  const made = await embed(inner, { config: config(), ...spec }, {
    mode: "vega-lite", ast: true, actions: false, defaultStyle: false, renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  });
  return made.view;
}

// A chart of a release that can be drawn again with other numbers.
export class Chart {
  constructor(box, label) {
    this.box = box;
    this.label = label;
    this.drawn = null;
    this.shape = "";
    this.view = null;
    this.turn = Promise.resolve();
    DARK.addEventListener("change", () => { this.shape = ""; if (this.drawn) this.show(this.drawn); });
  }

  show(drawn) {
    this.drawn = drawn;
    this.turn = this.turn.then(() => this.#draw(drawn)).catch((error) => { console.error(error); });
    return this.turn;
  }

  async #draw(drawn) {
    if (drawn !== this.drawn) return;
    const shape = JSON.stringify([drawn.scale, drawn.name, drawn.split, drawn.column,
      drawn.points.map((one) => [one.main, one.split])]);
    if (shape === this.shape && this.view !== null) {
      await this.view.data("points", drawn.points.map((one) => ({ ...one }))).runAsync();
    } else {
      this.view?.finalize();
      this.view = await embedded(this.box, specification(drawn, this.label(drawn)));
      if (this.view === null) {
        if ((await charting()) === null) (this.box.closest("figure") ?? this.box).hidden = true; // no empty frame
        return;
      }
      this.shape = shape;
    }
    this.box.dataset.drawn = String(drawn.points.length);
  }
}
