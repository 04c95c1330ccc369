// The policy's text: checked in plain words first, put into force afterwards.

import { call, given, post } from "./api.js";
import { find, problemBox, working } from "./dom.js";
import { decisionBoxes, decisions, meaningOf, renewed, saidApart, tellDone } from "./owned.js";

const text = find("#text");
const force = find("#force");
let checked = null;

function stale() {
  force.disabled = checked !== text.value || decisionBoxes().some((one) => !one.checked);
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
      new_people: saidApart("new_people"), more_budget: saidApart("more_budget"), same_data: saidApart("same_data"),
      other_unit: saidApart("other_unit") } });
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
