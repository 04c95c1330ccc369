// What the owner's pages share: what was done is told after the page is new, and secrets are shown once.

import { find, make } from "./dom.js";
import { plainWords } from "./words.js";

const DONE = "discreet-done";

// Load the page again, with words about what was done. The words hold no secret.
export function renewed(words) {
  sessionStorage.setItem(DONE, words);
  location.reload();
}

export function tellDone(box = find("#done")) {
  const words = sessionStorage.getItem(DONE);
  sessionStorage.removeItem(DONE);
  if (words && box) box.replaceChildren(make("div", { class: "good" }, make("p", {}, words)));
}

export async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select it and copy";
  }
}

// A password that nobody else has thought of: 20 letters of 32, 100 bits.
export function madeUp() {
  const letters = "abcdefghijkmnpqrstuvwxyz23456789";
  const bytes = crypto.getRandomValues(new Uint8Array(20));
  const made = Array.from(bytes, (byte) => letters[byte % 32]);
  return [0, 5, 10, 15].map((at) => made.slice(at, at + 5).join("")).join("-");
}

// A policy in plain words: what is unwise first.
export function meaningOf(told, ...first) {
  return [
    ...first,
    told.warnings.length
      ? make("div", { class: "problem" }, make("p", { class: "what" }, "Think again"),
        make("ul", { class: "warnings" }, ...told.warnings.map((one) => make("li", {}, one))))
      : null,
    plainWords(told.words.split("\n\nThink again\n")[0]),
  ].filter((one) => one !== null);
}

// What has to be said apart: boxes to tick, each with its reason.
export function decisions(told, changed) {
  const box = (kind, value, words) => make("label", { class: "choice tall decision" },
    make("input", { type: "checkbox", "data-kind": kind, value, onchange: changed }), make("span", {}, words));
  return [
    ...told.new_people.map((name) => box("new_people", name,
      `Nobody in ${name} is in any family that was here before: these are other people, and get a budget of their own.`)),
    ...told.more_budget.map((one) => box("more_budget", one.account,
      `${one.account} rises from ${one.from} to ${one.to}: more may be learned about these people than was promised.`)),
    ...told.same_data.map((one) => box("same_data", one.dataset,
      `The files of ${one.dataset} have changed since they were noted as version ${one.version}, and the rows are the same: they were only copied or touched. If the rows are others, write a new version instead.`)),
    ...told.other_unit.map((one) => box("other_unit", one.dataset,
      `What is spent on ${one.dataset} was promised to ${one.from}, and from now on it protects ${one.to}. Everybody is one of each: nobody has lost more than was counted.`)),
  ];
}

// These boxes, and what was said by those of one kind.
export const decisionBoxes = () => [...document.querySelectorAll(".decision input")];
export const saidApart = (kind) => decisionBoxes().filter((one) => one.dataset.kind === kind && one.checked).map((one) => one.value);
