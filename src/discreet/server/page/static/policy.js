// The policy's text: checked in plain words first, put into force afterwards.

import { call, given, post } from "./api.js";
import { find, problemBox, working } from "./dom.js";
import { decisions, meaningOf, renewed, tellDone } from "./owned.js";

const text = find("#text");
const force = find("#force");
let checked = null;

const boxes = () => [...document.querySelectorAll("#decisions input")];
const ticked = (kind) => boxes().filter((one) => one.dataset.kind === kind && one.checked).map((one) => one.value);

function stale() {
  force.disabled = checked !== text.value || boxes().some((one) => !one.checked);
}

find("#change").addEventListener("submit", async (event) => {
  event.preventDefault();
  const wanted = text.value;
  find("#problem").replaceChildren();
  find("#decisions").replaceChildren();
  try {
    const told = await post("/api/policy/check", { text: wanted });
    checked = wanted;
    find("#decisions").replaceChildren(...decisions(told, stale));
    find("#meaning").replaceChildren(...meaningOf(told));
  } catch (failure) {
    checked = null;
    find("#problem").replaceChildren(problemBox(failure));
  }
  stale();
});

force.addEventListener("click", async () => {
  const refused = working(force);
  try {
    const done = await call("/api/policy", { method: "PUT", body: { text: text.value, version: given().version,
      new_people: ticked("new_people"), more_budget: ticked("more_budget"), same_data: ticked("same_data"),
      other_unit: ticked("other_unit") } });
    const words = done.changed.length ? ` ${done.changed.join("; ")}.` : "";
    renewed(`Version ${done.version} is in force.${words}`);
  } catch (failure) {
    find("#problem").replaceChildren(problemBox(failure));
    refused();
    stale();
  }
});

text.addEventListener("input", stale);
tellDone();
