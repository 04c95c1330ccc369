// What was published answers questions for nothing: ranges, rectangles, quantiles, wider cells.

import { answerView, percent } from "./answers.js";
import { post } from "./api.js";
import { figure, find, make, problemBox } from "./dom.js";
import { exactNumber } from "./grids.js";

let made = 0;

function span(axis) {
  made += 1;
  const field = (which, hint) => {
    const input = make("input", { id: `${which}-${made}`, class: "number", inputmode: "decimal", autocomplete: "off",
      maxlength: "30", placeholder: String(exactNumber(hint)) });
    const label = which === "from" ? `${axis.of} from` : "to";
    return { input, hint: exactNumber(hint), element: make("div", { class: "field" }, make("label", { for: input.id }, label), input) };
  };
  const [low, high] = [field("from", axis.low), field("to", axis.high)];
  const said = (one) => one.input.value.trim() || String(one.hint);
  return { element: make("div", { class: "row end tight" }, low.element, high.element), values: () => [said(low), said(high)] };
}

function line(what, answer) {
  return make("tr", {}, make("th", { scope: "row" }, what), make("td", { class: "n" }, figure(answer.value)),
    make("td", { class: "n interval" }, `${figure(answer.low)} to ${figure(answer.high)}`));
}

// The forms for one publication: nothing is charged, however many questions there are.
export function freeQuestions(record) {
  const { axes } = record.release.published;
  const answers = make("tbody", {});
  const level = percent(record.release.confidence);
  const table = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Asked of it" },
    make("table", {}, make("caption", {}, "Asked of it, the newest first"),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "What"), make("th", { scope: "col", class: "n" }, "Answer"),
        make("th", { scope: "col", class: "n" }, `${level} interval`))), answers));
  table.hidden = true;
  const wide = make("div", { id: "rebinned" });
  const problem = make("div", { id: "free-problem", "aria-live": "polite" });
  const said = make("p", { class: "only-read", role: "status" });

  const ask = async (body, tell) => {
    problem.replaceChildren();
    try {
      tell(await post(`/api/releases/${encodeURIComponent(record.id)}/counts`, body));
    } catch (failure) {
      problem.replaceChildren(problemBox(failure));
    }
  };
  const told = (what, answer) => {
    answers.prepend(line(what, answer));
    table.hidden = false;
    said.textContent = `${what}: ${figure(answer.value)}, ${level} between ${figure(answer.low)} and ${figure(answer.high)}`;
  };
  const form = (id, button, work, ...children) => make("form", { class: "stack", id, novalidate: true,
    onsubmit: (event) => { event.preventDefault(); work(); } }, ...children, make("button", {}, button));

  const spans = axes.map(span);
  const counting = form("count-range", axes.length > 1 ? "Count in the rectangle" : "Count in the range", () => {
    const box = spans.map((one) => one.values());
    const words = axes.map((axis, i) => `${axis.of} from ${box[i][0]} to ${box[i][1]}`).join(", ");
    ask({ boxes: [box] }, (found) => told(words, found.counts[0]));
  }, make("h3", {}, axes.length > 1 ? "How many are in a rectangle" : "How many are in a range"), ...spans.map((one) => one.element));

  const forms = [counting];
  if (axes.length === 1) {
    const share = make("input", { id: "quantile-share", class: "number", inputmode: "decimal", autocomplete: "off", value: "0.5", maxlength: "12" });
    forms.push(form("quantile", "Find the value", () => {
      const part = share.value.trim();
      ask({ quantiles: [part] }, (found) => told(`${axes[0].of} below which ${part} of them are`, found.quantiles[0]));
    }, make("h3", {}, "Quantiles"), make("div", { class: "field" },
      make("label", { for: "quantile-share" }, "Share below, such as 0.5 for the median"), share)));
  }
  const most = axes.length === 1 ? 50 : 8;
  const bins = axes.map((axis, i) => make("input", { id: `rebin-${i}`, class: "number", inputmode: "numeric",
    autocomplete: "off", maxlength: "6", value: String(Math.min(axis.bins, axes.length === 1 ? 10 : most)) }));
  forms.push(form("rebin", "Make wider cells", () => {
    ask({ rebin: bins.map((one) => Number(one.value.trim()) || 0) }, async (found) => {
      const view = answerView(found.cells, { title: "Wider cells", badge: "cost nothing", level: "h3" });
      wide.replaceChildren(view.element);
      await view.draw();
      find("h3", wide).focus({ preventScroll: true });
    });
  }, make("h3", {}, "Wider cells"), make("div", { class: "row end tight" }, ...axes.map((axis, i) => make("div", { class: "field" },
    make("label", { for: `rebin-${i}` }, `Cells of ${axis.of}`), bins[i])))));
  return make("div", {}, make("div", { class: "free" }, ...forms), problem, said, table, wide);
}
