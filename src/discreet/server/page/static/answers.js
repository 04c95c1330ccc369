// One answer: its chart, its table with intervals, what is promised, and the ways to take it along.

import { Chart, drawable, isRollup, keyOf, keysOf, keyText, picture } from "./charts.js";
import { figure, find, make } from "./dom.js";

const MOST_ROWS = 200;

export function percent(text) {
  const [top, bottom = "1"] = text.split("/");
  return `${figure((100 * Number(top)) / Number(bottom))}%`;
}

function cell(value, column, release) {
  if (column.key) return make("th", { scope: "row", class: value === null && isRollup(release) ? "soft" : null }, keyOf(release, value));
  return make("td", { class: "n" }, typeof value === "number" ? figure(value) : keyText(value ?? "–"));
}

function between(pair) {
  if (pair === null || pair === undefined) return "–";
  return `${figure(pair[0])} to ${figure(pair[1])}`;
}

export function table(release, caption) {
  const level = percent(release.confidence);
  const heads = release.columns.flatMap((one) => [
    make("th", { scope: "col", class: one.key ? null : "n" }, one.name),
    ...(one.name in release.intervals ? [make("th", { scope: "col", class: "n" }, `${level} interval`)] : []),
  ]);
  const line = (row, i) => make("tr", {}, ...release.columns.flatMap((one, j) => [
    cell(row[j], one, release),
    ...(one.name in release.intervals
      ? [make("td", { class: "n interval" }, between(release.intervals[one.name][i]))] : []),
  ]));
  const body = make("tbody", {}, ...release.rows.slice(0, MOST_ROWS).map(line));
  const made = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads)), body));
  if (release.rows.length > MOST_ROWS) {
    const all = make("button", { type: "button", class: "quiet" }, `Show all ${figure(release.rows.length)} rows`);
    all.addEventListener("click", () => { body.replaceChildren(...release.rows.map(line)); all.remove(); });
    made.append(all);
  }
  return made;
}

// A promise with decimals where they end: 0.25 and 1/3, never 1/4 beside 0.15.
export function inDecimals(words) {
  return words.replaceAll(/\b(\d+)\/(\d+)\b/g, (fraction, top, bottom) => {
    const value = Number(top) / Number(bottom);
    return Number.isInteger(value * 1e6) ? String(value) : fraction;
  });
}

function described(release, drawn) {
  const by = drawn.name ? ` by ${drawn.name}` : "";
  return `Chart of ${drawn.column}${by} with ${percent(release.confidence)} intervals; the table has the same numbers.`;
}

// The chart of a release, with a choice of the column where there are several.
export function chartOf(release, { within = () => null } = {}) {
  const columns = drawable(release);
  const box = make("div", { class: "chart" });
  const told = make("figcaption", { class: "soft small" });
  const chart = new Chart(box, (drawn) => described(release, drawn));
  const state = { column: columns[0]?.name ?? null };
  const draw = () => {
    if (state.column === null) return Promise.resolve();
    const drawn = picture(release, state.column, within(state.column));
    told.textContent = drawn.told;
    box.setAttribute("aria-label", described(release, drawn));
    return chart.show(drawn);
  };
  box.setAttribute("role", "img");
  const choice = columns.length < 2 ? null : make("label", { class: "choice" }, "Draw ",
    make("select", { onchange: (event) => { state.column = event.target.value; draw(); } },
      ...columns.map((one) => make("option", { value: one.name }, one.name))));
  const figureOf = make("figure", {}, choice, box, told);
  if (state.column === null || release.rows.length === 0) figureOf.hidden = true;
  return { element: figureOf, draw, state };
}

function downloads(key) {
  const at = `/api/releases/${encodeURIComponent(key)}`;
  const link = (label, path, more) => make("li", {}, make("a", { class: "button quiet", href: path, ...more }, label));
  return make("ul", { class: "downloads", "aria-label": "Take it along" },
    link("CSV", `${at}.csv`, { download: `${key}.csv` }),
    link("JSON", at, { download: `${key}.json` }),
    link("SVG", `${at}.svg`, { download: `${key}.svg` }),
    link("PNG", `${at}.png`, { download: `${key}.png` }),
    link("Report", `${at}.html`, { target: "_blank", rel: "noopener" }));
}

// A release under a heading, drawn; `record` is what was stored, where it was, and `question` what it
// answers, where the page does not say so already.
export function answerView(release, { title, record = null, question = "", badge = "", words = [], level = "h2" }) {
  const chart = chartOf(release);
  const caption = `${title}: ${figure(release.rows.length)} row${release.rows.length === 1 ? "" : "s"}`;
  const notes = [...words, ...release.notes.map((note) => `${note[0].toUpperCase()}${note.slice(1)}.`)];
  const head = make("div", { class: "row" }, make(level, { tabindex: "-1" }, title),
    badge ? make("span", { class: badge === "made up" ? "badge made-up" : "badge" }, badge) : null);
  const before = make("span", { class: "badge made-up", hidden: true }, "to an earlier question");
  head.append(before);
  const element = make("div", { class: "answer" }, head,
    question ? make("pre", { class: "sql asked", tabindex: "0", role: "group", "aria-label": "The question that this answers" }, question) : null,
    make("div", { class: "beside" }, chart.element, table(release, caption)),
    make("p", { class: "promise" }, make("strong", {}, "What is promised: "), `${inDecimals(release.guarantee.words)}. `,
      release.covers),
    notes.length ? make("ul", { class: "notes soft small" }, ...notes.map((note) => make("li", {}, note))) : null,
    record === null ? null : make("div", { class: "row take" }, downloads(record.id),
      make("span", { class: "soft small" }, "Key ", make("code", {}, record.id), ` · cost ${record.cost}`)));
  // Beside its chart, unless the table is too wide for that.
  const draw = () => {
    const [beside, rows] = [find(".beside", element), find(".beside > .scroll", element)];
    beside.classList.remove("wide");
    beside.classList.toggle("wide", rows.scrollWidth > rows.clientWidth + 1);
    return chart.draw();
  };
  return { element, draw, keys: keysOf(release), earlier: (is) => { before.hidden = !is; } };
}
