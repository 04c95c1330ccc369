// Registering a dataset: six decisions on one page, all of which stay in the form.

import { given, post } from "./api.js";
import { Column } from "./columns.js";
import { figure, find, make, problemBox, working } from "./dom.js";
import { LookupForm } from "./lookups.js";
import { decisionBoxes, decisions, meaningOf, saidApart } from "./owned.js";

const known = given();
const form = find("#registering");
const picked = (name) => find(`input[name="${name}"]:checked`, form)?.value;
const value = (id) => find(`#${id}`).value.trim();
const family = () => known.families.find((one) => one.name === picked("family"));
const DELTA_SAYS = {
  pure: "The chance that the promise fails. With one, values that nobody listed can be found: those of a text column that enough people "
    + "share are shown. Without one they cannot. Say far less than one in the number of people, such as 0.000001.",
  zcdp: "",
  "zcdp-epsilon": "Needed here: half of it turns the epsilon into a rho, the other half finds values that nobody listed. Say far less "
    + "than one in the number of people, such as 0.000001.",
};
let columns = [];
let lookups = [];
let found = null;

// 1. which data

function source() {
  if (picked("where") === "database") return { address: value("address"), table: value("table") || null };
  return { source: value("source"), table: value("file-table") || null, delimiter: find("#delimiter").value || null };
}

async function look() {
  const done = working(find("#look"));
  find("#source-problem").replaceChildren();
  find("#looked").textContent = "Looking…";
  try {
    found = await post("/api/sources/draft", source());
    columns = found.columns.map((one) => new Column(one, count));
    find("#columns").replaceChildren(...columns.map((one) => one.row));
    lookups.forEach((one) => one.among(found.columns));
    find("#person").replaceChildren(make("option", { value: "" }, "decide…"),
      ...found.columns.map((one) => make("option", { value: one.name }, one.name)));
    find("#person-hint").textContent = found.persons.length ? `By its name it could be ${found.persons.join(" or ")}.` : "";
    if (!value("name")) find("#name").value = found.name;
    find("#looked").textContent = `${figure(columns.length)} columns; no row was read.`;
    find("#rest").hidden = false;
    count();
    find("#step-2").scrollIntoView({ block: "start", behavior: "smooth" });
  } catch (failure) {
    find("#looked").textContent = "";
    find("#source-problem").replaceChildren(problemBox(failure));
  }
  done();
}

// 2 to 4. who, what a person is, what is known

function unfold() {
  find("#of-file").hidden = picked("where") !== "file";
  find("#of-database").hidden = picked("where") !== "database";
  const isNew = picked("family") === "";
  find("#new-family").hidden = !isNew;
  find("#other-people").hidden = !isNew || !known.ever.length;
  find("#other-people span").textContent = `Nobody in these data is in ${known.ever.join(", ")}: these are other people.`;
  find("#of-person").hidden = picked("unit") !== "person";
  const there = family();
  find("#neighbours-choice").hidden = there !== undefined;
  find("#neighbours-said").hidden = there === undefined;
  const hides = there?.neighbours === "replace" ? "what is said about a person" : "whether a person is in the data at all";
  find("#neighbours-said").textContent = there ? `Hidden is ${hides}, as for all data of ${there.name}.` : "";
  find("#of-replace").hidden = picked("neighbours") !== "replace";
  find("#delta-field").hidden = find("#accounting").value === "zcdp";
  find("#delta-help").textContent = DELTA_SAYS[find("#accounting").value];
}

function count() {
  const open = columns.filter((one) => !one.decided).length;
  find("#undecided").textContent = open ? `${open} of ${columns.length} undecided` : "all decided";
  find("#hide-rest").disabled = open === 0;
  outdate();
}

// 5 and 6. what it comes to

function unit() {
  const relation = family()?.neighbours ?? picked("neighbours");
  const many = relation === "replace" ? value("many") : "";
  if (picked("unit") === "row") return many ? { per: "row", rows: many } : "row";
  const most = picked("rows") === "find" ? { max_rows: "find", find_epsilon: value("find-epsilon") } : { max_rows: value("max-rows") };
  return { person: value("person"), ...most, ...(many ? { people: many } : {}) };
}

function wanted() {
  const [accounting, inEpsilon] = find("#accounting").value.split("-");
  const amount = { [accounting === "pure" || inEpsilon ? "epsilon" : "rho"]: value("amount") };
  if (find("#accounting").value !== "zcdp" && value("delta")) amount.delta = value("delta");
  const isNew = { name: value("family-name"), accounting, ...amount, neighbours: picked("neighbours") };
  return {
    ...source(), name: value("name"), version: value("version"), unit: unit(),
    family: picked("family") === "" ? isNew : picked("family"), new_people: find("#new-people").checked,
    columns: Object.fromEntries(columns.map((one) => [one.told.name, one.value()])),
    lookups: Object.fromEntries(lookups.map((one) => [one.name, one.value()])),
  };
}

// What is still to be decided, in the order of the page.
function missing() {
  const open = columns.filter((one) => !one.decided).map((one) => one.told.name);
  const isNew = picked("family") === "";
  return [
    [picked("family") === undefined, "2: whose data these are", "#step-2"],
    [isNew && known.ever.length && !find("#new-people").checked, `2: whether these are other people than ${known.ever.join(", ")}; if not, choose theirs`, "#step-2"],
    [isNew && !value("family-name"), "2: a name for these people", "#family-name"],
    [isNew && !value("amount"), "2: how much may be learned about them", "#amount"],
    [isNew && find("#accounting").value === "zcdp-epsilon" && !value("delta"), "2: the delta at which the epsilon holds", "#delta"],
    [picked("unit") === undefined, "3: what a person is", "#step-3"],
    [picked("unit") === "person" && !value("person"), "3: which column names the person", "#person"],
    [picked("unit") === "person" && !value(picked("rows") === "find" ? "find-epsilon" : "max-rows"), "3: how many rows of one person count", "#max-rows"],
    [isNew && picked("neighbours") === undefined, "3: what is hidden", "#step-3"],
    [open.length, `4: ${open.slice(0, 5).join(", ")}${open.length > 5 ? ` and ${open.length - 5} more` : ""}`, "#step-4"],
    ...lookups.map((one) => [one.problem !== "", `4: ${one.name || "a public table"}: ${one.problem}`, "#lookups"]),
    [lookups.length !== new Set(lookups.map((one) => one.name)).size, "4: public tables with different names", "#lookups"],
    [!value("name"), "5: a name", "#name"], [!value("version"), "5: a version", "#version"],
  ].filter(([is]) => is);
}

function outdate() {
  find("#problem").replaceChildren();
  find("#force").hidden = true;
  find("#meaning").hidden = true;
}

// All that has to be said apart was, before anything is put into force.
function decided() { find("#force").disabled = decisionBoxes().some((one) => !one.checked); }

// The parts of the plain words that are about this dataset and its people come first.
function sorted(told, body) {
  const people = typeof body.family === "string" ? body.family : body.family.name;
  const parts = told.words.split("\n\n");
  const ours = (part) => part.startsWith(`Family ${people}:`) || part.startsWith(`Dataset ${body.name}`);
  return { ...told, words: [...parts.filter(ours), ...parts.filter((part) => !ours(part))].join("\n\n") };
}

async function check() {
  outdate();
  const open = missing();
  if (open.length) {
    const list = make("ul", { class: "warnings" }, ...open.map(([, words, where]) => make("li", {}, make("a", { href: where }, words))));
    find("#problem").replaceChildren(make("div", { class: "problem", role: "alert" }, make("p", { class: "what" }, "Still to be decided"), list));
    return;
  }
  const done = working(find("#check"));
  try {
    const body = wanted();
    const told = await post("/api/datasets/check", body);
    const text = make("details", {}, make("summary", {}, "What is added to the policy's text"), make("pre", { class: "words" }, told.added));
    const more = decisions({ ...told, new_people: [] }, decided); // which people is a step of its own
    find("#meaning").replaceChildren(...more, ...meaningOf(sorted(told, body)), text);
    find("#meaning").hidden = false;
    find("#force").hidden = false;
    decided();
  } catch (failure) {
    find("#problem").replaceChildren(problemBox(failure));
  }
  done();
}

async function putIntoForce(event) {
  event.preventDefault();
  const button = find("#force");
  if (button.hidden || button.disabled) return;
  const refused = working(button);
  try {
    const body = { ...wanted(), more_budget: saidApart("more_budget"), same_data: saidApart("same_data"), other_unit: saidApart("other_unit") };
    const done = await post("/api/datasets", body);
    sessionStorage.setItem("discreet-done", `${body.name} is registered: version ${done.version} of the policy is in force. Next: let an analyst in, with an allowance.`);
    location.assign("/overview");
  } catch (failure) {
    find("#problem").replaceChildren(problemBox(failure));
    refused();
  }
}

find("#look").addEventListener("click", look);
find("#source").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); look(); } });
document.querySelectorAll("[data-pick]").forEach((button) => {
  button.addEventListener("click", () => { find("#source").value = button.dataset.pick; look(); });
});
find("#hide-rest").addEventListener("click", () => {
  columns.filter((one) => !one.decided).forEach((one) => one.choose("hidden"));
  count();
});
find("#add-lookup").addEventListener("click", () => {
  const made = new LookupForm(found.columns, () => { lookups = lookups.filter((one) => one !== made); outdate(); });
  lookups.push(made);
  find("#lookups").append(made.element);
  find("input", made.element).focus();
});
const isDecision = (event) => event.target.closest("#meaning") !== null; // it changes nothing that was checked
form.addEventListener("input", (event) => { if (!isDecision(event)) outdate(); });
form.addEventListener("change", (event) => { if (!isDecision(event)) { unfold(); outdate(); } });
find("#check").addEventListener("click", check);
form.addEventListener("submit", putIntoForce);
unfold();
