// A period more of a dataset: its data, and whether its people are others. Said in plain words first.

import { call, post } from "./api.js";
import { find, make, problemBox, working } from "./dom.js";
import { renewed } from "./owned.js";

const FIELDS_OF_PERIOD = ["name", "source", "table", "version", "epsilon", "rho", "delta"];

function periodOf(form) {
  const people = find('input[name="people"]:checked', form)?.value ?? "";
  const own = people === "own";
  const amounts = ["epsilon", "rho", "delta"];
  const said = FIELDS_OF_PERIOD.filter((name) => form.elements[name] && (own || !amounts.includes(name)))
    .map((name) => [name, form.elements[name].value.trim()]).filter(([name, value]) => value !== "" || ["name", "version"].includes(name));
  return { ...Object.fromEntries(said), people, new_people: own && form.elements.promise.checked };
}

function openInPeriod(form, body) {
  const where = form.elements.source ? body.source : body.table;
  return [
    [!body.name, "a name"], [!where, form.elements.source ? "a file" : "a table"], [!body.version, "a version"],
    [!body.people, "whether its people are others"],
    [body.people === "own" && !body.new_people, "that nobody in it is in another part; if somebody is, its people are the same"],
  ].filter(([is]) => is).map(([, words]) => words);
}

// The sentence of the plain words that is about the period.
function meantBy(told, name) {
  const lines = told.words.replaceAll(/\n {4}/g, " ").split("\n");
  return (lines.find((line) => line.startsWith(`  - Block ${name}, `)) ?? "").slice(4);
}

export function periodForm(form) {
  const [check, add] = [find(".check", form), find("button.main", form)];
  const [trouble, meant] = [find(".trouble", form), find(".meant", form)];
  const at = `/api/datasets/${encodeURIComponent(form.dataset.dataset)}/blocks`;
  const stale = () => { add.hidden = true; meant.replaceChildren(); trouble.replaceChildren(); };
  form.addEventListener("input", stale);
  form.addEventListener("change", () => {
    stale();
    find(".own", form).hidden = find('input[name="people"]:checked', form)?.value !== "own";
  });
  const say = async () => {
    stale();
    const body = periodOf(form);
    const open = openInPeriod(form, body);
    if (open.length) {
      trouble.replaceChildren(make("div", { class: "problem", role: "alert" },
        make("p", { class: "what" }, "Still to be decided"), make("ul", { class: "warnings" }, ...open.map((one) => make("li", {}, one)))));
      return;
    }
    try {
      const told = await post(`${at}/check`, body);
      const warned = told.warnings.filter((one) => one.includes(`block ${body.name} of ${form.dataset.dataset}`));
      meant.replaceChildren(make("p", { class: "words small" }, meantBy(told, body.name)),
        ...warned.map((one) => make("p", { class: "problem small" }, one)),
        make("details", {}, make("summary", {}, "What is added to the policy's text"), make("pre", { class: "words" }, told.added)));
      add.hidden = false;
    } catch (failure) {
      trouble.replaceChildren(problemBox(failure));
    }
  };
  check.addEventListener("click", say);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (add.hidden) { say(); return; }
    const refused = working(add);
    try {
      const body = periodOf(form);
      const done = await post(at, body);
      renewed(`${form.dataset.dataset} has the period ${body.name}: version ${done.version} of the policy is in force.`);
    } catch (failure) {
      trouble.replaceChildren(problemBox(failure));
      refused();
    }
  });
}

// The files that could be chosen are looked for when somebody opens the first form.
export function sourcesOnce() {
  let asked = false;
  return async () => {
    if (asked) return;
    asked = true;
    const told = await call("/api/sources").catch(() => ({ sources: [] }));
    find("#sources").replaceChildren(...told.sources.map((one) => make("option", { value: one })));
  };
}
