// The owner's overview: what was spent over time, one period more, and retiring a dataset.

import { given, post } from "./api.js";
import { charting, colourOf, embedded } from "./charts.js";
import { find, make, problemBox } from "./dom.js";
import { renewed, tellDone } from "./owned.js";
import { periodForm, sourcesOnce } from "./periods.js";

const told = given();
// As everywhere on these pages: in UTC, and 13:57 is no 01:57.
const TIMES = {
  year: "%Y", quarter: "%Y-%m", month: "%Y-%m", week: "%m-%d", date: "%m-%d", day: "%m-%d",
  hours: "%H:%M", minutes: "%H:%M", seconds: "%H:%M:%S", milliseconds: "%H:%M:%S",
};

// Four digits of what was spent, never less than it is; the table has them all.
function atMost(text) {
  const size = Number(text);
  if (!(size > 0)) return "0";
  const scale = 10 ** (3 - Math.floor(Math.log10(size)));
  return String(Number((Math.ceil(size * scale * (1 - 1e-12)) / scale).toPrecision(4)));
}

const inUtc = (at) => at.slice(0, 19).replace("T", " ");

// One line for each family, or for each who asked. Epsilons and rhos do not compare: each has a
// picture of its own.
function series(of) {
  const steps = told.steps.filter((one) => one.of === of);
  const now = new Date().toISOString();
  return [...new Set(steps.map((one) => one.unit))].map((unit) => {
    const points = steps.filter((one) => one.unit === unit)
      .map((one) => ({ name: one.name, at: one.at, when: inUtc(one.at), spent: Number(one.spent), said: one.spent, unit }));
    const lines = [...new Set(points.map((one) => one.name))];
    const ends = lines.map((line) => ({ ...points.findLast((one) => one.name === line), at: now }));
    const starts = told.since ? [] : lines.map((line) => ({ ...points.find((one) => one.name === line), spent: 0, said: "0" }));
    return { unit, points, drawn: [...starts, ...points, ...ends], lines };
  });
}

async function draw(of) {
  const all = series(of);
  tabled(all.flatMap((one) => one.points).sort((a, b) => (a.at < b.at ? -1 : 1)));
  find("#spending-says").textContent = all.flatMap(({ lines, points, unit }) => lines.map((line) => {
    const last = points.findLast((one) => one.name === line);
    const total = of === "family" ? told.totals[line] : undefined;
    return `${line}: ${unit} ${atMost(last.said)}${total ? ` of ${total}` : ""}`;
  })).join("; ");
  if ((await charting()) === null) { // then the table is all there is
    find("#spending").hidden = true;
    find("#spending-table").closest("details").open = true;
    return;
  }
  const boxes = all.map(() => make("div", {}));
  find("#spending").replaceChildren(...boxes);
  const views = await Promise.all(all.map((one, i) => pictured(boxes[i], one, all.length)));
  if (views.every((view) => view !== null)) find("#spending").dataset.drawn = String(all.reduce((sum, one) => sum + one.points.length, 0));
}

function pictured(box, { unit, points, drawn, lines }, many) {
  return embedded(box, {
    data: { values: drawn }, width: "container", height: many > 1 ? 170 : 250, autosize: { type: "fit-x", contains: "padding" },
    description: `Spent over time, in ${unit}`,
    encoding: {
      x: { field: "at", type: "temporal", title: null, scale: { type: "utc" }, axis: { grid: false, tickCount: 6, labelOverlap: true, format: TIMES } },
      y: { field: "spent", type: "quantitative", title: `${unit} spent`, axis: { domain: false, ticks: false, tickCount: 5, labelPadding: 8, minExtent: 44 } },
      color: { field: "name", type: "nominal", title: null, sort: null,
        ...(lines.length === 1 && many === 1 ? { legend: null } : {}), ...(lines.length === 1 ? { scale: { range: [colourOf("--accent")] } } : {}) },
    },
    layer: [
      { mark: { type: "line", interpolate: "step-after", strokeWidth: 2.2 } },
      { mark: { type: "circle", size: 34, opacity: 1 }, data: { values: points },
        encoding: { tooltip: [{ field: "name", title: "Who" }, { field: "said", title: "Spent" }, { field: "when", title: "When, in UTC" }] } },
    ],
  });
}

function tabled(points) {
  const head = ["Who", "Spent in all", "When"].map((text) => make("th", { scope: "col" }, text));
  const rows = points.slice(-200).reverse().map((one) => make("tr", {},
    make("th", { scope: "row" }, one.name), make("td", {}, `${one.unit} ${one.said}`),
    make("td", {}, one.when)));
  find("#spending-table").replaceChildren(make("table", {},
    make("caption", {}, "The newest first; times are in UTC"), make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)));
}

function retiring(form) {
  const [input, button] = [find("input", form), find("button", form)];
  input.addEventListener("input", () => { button.disabled = input.value !== form.dataset.name; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (input.value !== form.dataset.name) return;
    button.disabled = true;
    try {
      const done = await post(`/api/datasets/${encodeURIComponent(form.dataset.name)}/retire`);
      renewed(`Retired for good: ${done.retired.join(", ")}.`);
    } catch (failure) {
      form.append(problemBox(failure));
    }
  });
}

tellDone();
document.querySelectorAll("form.retire").forEach(retiring);
document.querySelectorAll("form.period").forEach(periodForm);
const listSources = sourcesOnce();
document.querySelectorAll(".period-of").forEach((one) => one.addEventListener("toggle", listSources));
if (find("#spending")) {
  const chosen = () => find('input[name="by"]:checked').value;
  find("#by").addEventListener("change", () => draw(chosen()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(chosen()));
  draw(chosen());
}
