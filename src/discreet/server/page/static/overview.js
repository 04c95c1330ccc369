// The owner's overview: what was spent over time, and retiring a dataset.

import { given, post } from "./api.js";
import { colourOf, embedded } from "./charts.js";
import { find, make, problemBox } from "./dom.js";
import { renewed, tellDone } from "./owned.js";

const told = given();

// One line for each family, or for each who asked; a unit of its own for each accounting.
function series(of) {
  const steps = told.steps.filter((one) => one.of === of);
  const units = [...new Set(steps.map((one) => one.unit))];
  const many = units.length > 1;
  const now = new Date().toISOString();
  const name = (one) => (many ? `${one.name} (${one.unit})` : one.name);
  const points = steps.map((one) => ({ name: name(one), who: one.name, at: one.at, spent: Number(one.spent), said: one.spent, unit: one.unit }));
  const lines = [...new Set(points.map((one) => one.name))];
  const ends = lines.map((line) => ({ ...points.findLast((one) => one.name === line), at: now }));
  const starts = told.since ? [] : lines.map((line) => ({ ...points.find((one) => one.name === line), spent: 0, said: "0" }));
  return { points, drawn: [...starts, ...points, ...ends], lines, title: units.join(" or ") };
}

async function draw(of) {
  const { points, drawn, lines, title } = series(of);
  tabled(points);
  find("#spending-says").textContent = lines.map((line) => {
    const last = points.findLast((one) => one.name === line);
    const total = of === "family" ? told.totals[last.who] : undefined;
    return `${line}: ${last.unit} ${last.said}${total ? ` of ${total}` : ""}`;
  }).join("; ");
  const line = { type: "line", interpolate: "step-after", strokeWidth: 2.2 };
  const view = await embedded(find("#spending"), {
    data: { values: drawn }, width: "container", height: 250, autosize: { type: "fit-x", contains: "padding" },
    description: `Spent over time, in ${title}`,
    encoding: {
      x: { field: "at", type: "temporal", title: null, axis: { grid: false, tickCount: 6, labelOverlap: true } },
      y: { field: "spent", type: "quantitative", title: `${title} spent`, axis: { domain: false, ticks: false, tickCount: 5, labelPadding: 8 } },
      color: { field: "name", type: "nominal", title: null, sort: null,
        ...(lines.length === 1 ? { legend: null, scale: { range: [colourOf("--accent")] } } : {}) },
    },
    layer: [
      { mark: line },
      { mark: { type: "circle", size: 34, opacity: 1 }, data: { values: points },
        encoding: { tooltip: [{ field: "name", title: "Who" }, { field: "said", title: "Spent" }, { field: "at", type: "temporal", title: "When" }] } },
    ],
  });
  if (view !== null) find("#spending").dataset.drawn = String(points.length);
}

function tabled(points) {
  const head = ["Who", "Spent in all", "When"].map((text) => make("th", { scope: "col" }, text));
  const rows = points.slice(-200).reverse().map((one) => make("tr", {},
    make("th", { scope: "row" }, one.name), make("td", {}, `${one.unit} ${one.said}`),
    make("td", {}, one.at.slice(0, 19).replace("T", " "))));
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
if (find("#spending")) {
  const chosen = () => find('input[name="by"]:checked').value;
  find("#by").addEventListener("change", () => draw(chosen()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(chosen()));
  draw(chosen());
}
