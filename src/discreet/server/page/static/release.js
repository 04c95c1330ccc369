// The page of one release: the answer, and what can be computed from it for free.

import { answerView } from "./answers.js";
import { given, post } from "./api.js";
import { keyText } from "./charts.js";
import { find, make, problemBox } from "./dom.js";
import { freeQuestions } from "./publication.js";

const { record } = given();
const { release } = record;

async function derive(body, title) {
  const box = find("#derived");
  try {
    const made = await post(`/api/releases/${encodeURIComponent(record.id)}/derive`, body);
    const view = answerView(made, { title, badge: "cost nothing", level: "h3" });
    box.replaceChildren(view.element);
    await view.draw();
    find("h3", box).focus({ preventScroll: true });
  } catch (failure) {
    box.replaceChildren(problemBox(failure));
  }
  box.scrollIntoView({ block: "nearest" });
}

// Which numbers are added up: some, as means, do not add up, and can be left out.
function columnsOf(prefix) {
  const numbers = release.columns.filter((one) => !one.key);
  const boxes = numbers.map((one, i) => make("input", { type: "checkbox", id: `${prefix}-${i}`, value: one.name, checked: true }));
  const field = numbers.length < 2 ? null : make("fieldset", {}, make("legend", {}, "Of these numbers"),
    ...numbers.map((one, i) => make("label", { class: "choice" }, boxes[i], one.name)));
  const chosen = () => {
    const taken = boxes.filter((one) => one.checked).map((one) => one.value);
    return taken.length === numbers.length ? {} : { columns: taken };
  };
  return { field, chosen };
}

function rollUp(keys) {
  const of = columnsOf("add");
  const boxes = keys.map((one, i) => make("input", { type: "checkbox", id: `keep-${i}`, value: one.name }));
  return make("form", {
    class: "stack", id: "roll-up",
    onsubmit: (event) => {
      event.preventDefault();
      const by = boxes.filter((one) => one.checked).map((one) => one.value);
      derive({ by, ...of.chosen() }, by.length ? `Rolled up by ${by.join(", ")}` : "All groups together");
    },
  }, keys.length < 2 ? make("p", { class: "plain" }, "Add up all groups into one number.")
    : make("fieldset", {}, make("legend", {}, "Add up all groups, but keep apart"),
      ...keys.map((one, i) => make("label", { class: "choice" }, boxes[i], one.name))),
  of.field, make("button", {}, "Roll up"));
}

function range(keys) {
  const column = make("select", { id: "range-column" }, ...keys.map((one) => make("option", { value: one.name }, one.name)));
  const low = make("input", { id: "range-low", class: "number", required: true, autocomplete: "off" });
  const high = make("input", { id: "range-high", class: "number", required: true, autocomplete: "off" });
  const of = columnsOf("range-add");
  const share = make("input", { type: "checkbox", id: "range-share" });
  const hint = () => {
    const at = release.columns.findIndex((one) => one.name === column.value);
    const values = release.rows.map((row) => keyText(row[at])).filter((one) => one !== "(none)");
    low.placeholder = values[0] ?? "";
    high.placeholder = values.at(-1) ?? "";
  };
  column.addEventListener("change", hint);
  hint();
  return make("form", {
    class: "stack", id: "range",
    onsubmit: (event) => {
      event.preventDefault();
      const body = { column: column.value, low: low.value.trim(), high: high.value.trim(), share: share.checked, ...of.chosen() };
      derive(body, `${body.column} from ${body.low} to below ${body.high}`);
    },
  }, make("div", { class: "row end" },
    make("div", { class: "field" }, make("label", { for: "range-column" }, "Add up a range of"), column),
    make("div", { class: "field" }, make("label", { for: "range-low" }, "from"), low),
    make("div", { class: "field" }, make("label", { for: "range-high" }, "to below"), high)),
  make("label", { class: "choice" }, share, "share out bins that are cut"), of.field,
  make("button", {}, "Take the range"));
}

const shown = answerView(release, { title: "Answer", record, badge: `cost ${record.cost}` });
find("#answer").replaceChildren(shown.element);
shown.draw();
const ordered = shown.keys.filter((one) => ["int", "float", "date"].includes(one.kind));
if (release.published) {
  find("#ways").replaceWith(freeQuestions(record));
  find("#free").hidden = false;
} else if (shown.keys.length) {
  find("#ways").replaceChildren(rollUp(shown.keys), ...(ordered.length ? [range(ordered)] : []));
  find("#free").hidden = false;
}
