// People, their keys, passwords and allowances.

import { call, given, post } from "./api.js";
import { find, make, problemBox, working } from "./dom.js";
import { copied, madeUp, renewed, tellDone } from "./owned.js";

const me = given().me;
const listed = (text) => text.split(",").map((one) => one.trim()).filter((one) => one);

// What failed, alone: what was done before it is no longer news.
function trouble(failure, box = find("#trouble")) {
  find("#done").replaceChildren();
  box.replaceChildren(problemBox(failure));
  box.scrollIntoView({ block: "nearest" });
}

// The tables as they are now, from the page itself: a secret that is on it stays.
async function listedAnew() {
  const text = await fetch(location.pathname, { headers: { Accept: "text/html" } }).then((answer) => answer.text(), () => "");
  const page = new DOMParser().parseFromString(text, "text/html");
  for (const one of ["#people-list", "#known-analysts", "#allowances-list", "#keys-list"]) {
    const there = find(one, page);
    if (there) find(one).replaceChildren(...there.childNodes);
  }
  listing();
}

// Shown here and nowhere else; the page is new only when it was kept.
function once(title, text, warning) {
  const box = find("#secret");
  const copy = make("button", { type: "button", class: "quiet", id: "copy-secret", onclick: () => copied(text, copy) }, "Copy it");
  box.replaceChildren(
    make("h2", { tabindex: "-1" }, title), make("p", {}, warning), make("code", { id: "shown-once" }, text),
    make("div", { class: "row" }, copy,
      make("button", { type: "button", class: "quiet", id: "kept", onclick: () => location.reload() }, "I have kept it")));
  box.hidden = false;
  find("#act").hidden = true;
  find("#done").replaceChildren();
  find("#trouble").replaceChildren();
  listedAnew();
  box.scrollIntoView({ block: "center" });
  find("h2", box).focus();
}

// One small form for what is done to a person.
function asked(title, words, fields, action, work) {
  const form = find("#act");
  const places = fields.map(({ id, label, help = "", ...attributes }) => [
    make("label", { for: id }, label), make("input", { id, autocomplete: "off", ...attributes }),
    help ? make("p", { class: "soft small" }, help) : null]).flat();
  const box = make("div", {});
  form.replaceChildren(make("h3", { tabindex: "-1" }, title), make("p", { class: "small" }, words),
    ...places.filter((one) => one !== null), box,
    make("div", { class: "row tight" }, make("button", { class: "main", id: "act-go" }, action),
      make("button", { type: "button", onclick: () => { form.hidden = true; } }, "Not now")));
  form.hidden = false;
  form.onsubmit = async (event) => {
    event.preventDefault();
    const refused = working(find("#act-go"));
    try {
      await work();
    } catch (failure) {
      trouble(failure, box);
      refused();
    }
  };
  form.scrollIntoView({ block: "nearest" });
  (find("input", form) ?? find("h3", form)).focus();
}

const ACTS = {
  key(name) {
    asked(`A key for ${name}`, "For programs: it is shown once, ends by itself, and can be revoked at any time.", [
      { id: "key-label", label: "What is it for?", maxlength: "60", placeholder: "notebook" },
      { id: "key-days", label: "Days that it lives", class: "number", inputmode: "numeric", value: "90", maxlength: "3" },
      { id: "key-datasets", label: "Only for these datasets", list: "datasets", placeholder: "all that they may see", help: "Names, with commas between them." },
    ], "Make the key", async () => {
      const datasets = listed(find("#key-datasets").value);
      const made = await post("/api/keys", { person: name, label: find("#key-label").value,
        days: Number(find("#key-days").value), datasets: datasets.length ? datasets : null });
      once(`The key of ${name}`, made.key, "This is the only time that it is seen. Who has it asks as this person: hand it over on a safe way, and keep no copy.");
    });
  },
  password(name) {
    asked(`A new password for ${name}`, name === me ? "You will have to sign in again." : "Whoever is signed in under this name is signed out at once.", [
      { id: "new-password", label: "Password", value: madeUp(), minlength: "10", maxlength: "200", spellcheck: "false" },
    ], "Set the password", async () => {
      const password = find("#new-password").value;
      await post(`/api/people/${encodeURIComponent(name)}/password`, { password });
      once(`The password of ${name}`, password, "This is the only time that it is seen.");
    });
  },
  disable(name) {
    asked(`Shut ${name} out`, "Sessions end and keys are revoked at once. What was answered stays in the ledger, and so does what was spent.", [],
      `Shut ${name} out`, async () => {
        await post(`/api/people/${encodeURIComponent(name)}/disable`);
        renewed(`${name} is shut out.`);
      });
  },
};

async function revoke(button) {
  if (button.dataset.sure === undefined) {
    button.dataset.sure = "";
    button.textContent = "Really revoke";
    return;
  }
  try {
    await call(`/api/keys/${button.dataset.revoke}`, { method: "DELETE" });
    renewed(`The key ${button.dataset.revoke} of ${button.dataset.whose} is revoked.`);
  } catch (failure) {
    trouble(failure);
  }
}

document.querySelectorAll("[data-fill]").forEach((button) => {
  button.addEventListener("click", () => { find(`#${button.dataset.fill}`).value = madeUp(); });
});

// Letting somebody in: an allowance first, so that nobody comes in who may ask nothing.
const add = find("#add");
const role = () => find('input[name="role"]:checked', add).value;
function fitting() {
  find("#add-allowance").hidden = role() !== "analyst";
  inUnits();
}
add.addEventListener("change", fitting);

// A budget in rho has no delta; where the people's has one, an allowance may be an epsilon at a delta.
function inUnits() {
  const family = add.elements.family?.selectedOptions[0];
  if (!family) return;
  const { unit: of, delta } = family.dataset;
  const units = of === "rho" && delta !== "0" ? ["rho", "epsilon"] : [of];
  const select = find("#add-unit");
  if ([...select.options].map((one) => one.value).join() !== units.join()) {
    select.replaceChildren(...units.map((one) => make("option", {}, one)));
  }
  find("#add-delta-field").hidden = delta === "0" || select.value === "rho";
}
add.addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = add.elements.name.value.trim();
  const password = add.elements.password.value;
  const amount = add.elements.amount?.value.trim() ?? "";
  const done = working(find("button.main", add));
  let allowed = false;
  try {
    if (role() === "analyst" && amount) {
      const delta = find("#add-delta-field").hidden ? "" : add.elements.delta.value.trim();
      await post("/api/allowances", { analyst: name, family: add.elements.family.value, [add.elements.unit.value]: amount,
        ...(delta ? { delta } : {}) });
      allowed = true;
    }
    await post("/api/people", { name, role: role(), password: password || null });
    if (password) once(`${name} may sign in`, password, "The password; this is the only time that it is seen.");
    else renewed(`${name} is let in; make a key for them.`);
    add.reset();
    fitting();
  } catch (failure) {
    trouble(failure);
    if (allowed) find("#trouble .problem").append(make("p", { class: "fix" }, `The allowance of ${name} is in force already; only letting them in failed.`));
  }
  done();
});

// Another allowance; more than before is asked for in a box of its own.
function allowance(form) {
  const more = find(".more-budget", form);
  const typed = (field) => form.elements[field]?.value.trim() ?? "";
  const rises = () => Number(typed("amount")) > Number(form.dataset.total) || Number(typed("delta")) > Number(form.dataset.delta);
  form.addEventListener("input", (event) => { if (event.target.name !== "more") more.hidden = !rises(); });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { analyst, family, unit } = form.dataset;
    const amounts = [[unit, typed("amount")], ["delta", typed("delta")]].filter(([, amount]) => amount !== "");
    if (!amounts.length) { form.elements.amount.focus(); return; }
    try {
      const done = await post("/api/allowances", { analyst, family, ...Object.fromEntries(amounts),
        more_budget: !more.hidden && form.elements.more.checked });
      renewed(done.changed.length ? `Changed: ${done.changed.join("; ")}.` : "Nothing changed.");
    } catch (failure) {
      more.hidden = !rises() && !/decision of its own/.test(failure.message);
      trouble(failure);
    }
  });
}

// What the tables do, whenever they are new.
function listing() {
  document.querySelectorAll("[data-act]").forEach((button) => {
    button.onclick = () => ACTS[button.dataset.act](button.parentElement.dataset.person);
  });
  document.querySelectorAll("[data-revoke]").forEach((button) => { button.onclick = () => revoke(button); });
  document.querySelectorAll("form.allowance").forEach(allowance);
}

listing();
inUnits();
tellDone();
