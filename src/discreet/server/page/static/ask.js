// The page for asking: a question, what it would cost and how exact it would be, and its answer.

import { answerView } from "./answers.js";
import { call, given, post } from "./api.js";
import { charting } from "./charts.js";
import { find, later, make, problemBox } from "./dom.js";
import { Editor } from "./editor.js";
import { Preview } from "./preview.js";
import { aboutDelta } from "./problems.js";
import { freeQuestions } from "./publication.js";
import { Publishing, foreseen } from "./publish.js";
import { nameInSql } from "./sql.js";

const data = document.getElementById("data") ? given() : null;

function question() {
  const said = { question: find("#question").value, dataset: data.name };
  const block = find("#block")?.value;
  const delta = find("#delta").value.trim();
  if (block) said.block = block;
  if (delta && find('input[name="unit"]:checked')?.value !== "rho") said.delta = delta;
  if (find("#search-again").checked) said.search_again = true;
  return said;
}

function wait(seconds) {
  const bar = make("progress", { max: seconds, value: 0, "aria-label": "Waiting for the answer" });
  const words = `The answer comes after ${seconds} second${seconds === 1 ? "" : "s"}, whatever the data hold.`;
  find("#progress").replaceChildren(make("p", { class: "soft" }, words), bar);
  find("#progress").scrollIntoView({ block: "nearest" });
  const began = performance.now();
  const timer = setInterval(() => { bar.value = (performance.now() - began) / 1000; }, 100);
  return () => { clearInterval(timer); find("#progress").replaceChildren(); };
}

// What is left of the own budgets; an answer that leaves them as they were was free.
const budgets = async () => JSON.stringify((await call("/api/budget").catch(() => null))?.accounts ?? null);

// Whether an answer took nothing off the budget, because it was paid for before.
async function wasFree(record, before) {
  if (before !== null) return before !== "null" && before === await budgets(); // it has no name of its own
  const told = await call("/api/releases?limit=5").catch(() => ({ releases: [] }));
  return told.releases.find((one) => one.key === record.id)?.paid === "";
}

class Asking {
  constructor() {
    this.paid = new Map(); // the highest price at which each question was answered, as far as is known
    this.look = later(700, () => this.preview.look());
    this.editor = new Editor(find("#question"), {
      known: () => ({ columns: [...data.columns, ...data.lookups.flatMap((one) => one.columns)],
        tables: [data.name, ...data.lookups.map((one) => one.name)],
        joins: data.lookups.map((one) => `JOIN ${nameInSql(one.name)} USING (${nameInSql(one.key)})`) }),
      changed: () => { this.#changed(); this.look(); },
      submit: () => find("#asking").requestSubmit(),
    });
    this.publishing = new Publishing(data, {
      changed: () => { this.#changed(); this.#inEpsilon(); this.look(); },
      write: (text) => { this.editor.value = text; },
    });
    this.preview = new Preview(data, {
      question, ask: (said, signal) => this.#before(said, signal),
      verb: () => (this.publishing.mode === "sql" ? "Ask" : "Publish"), changed: () => { this.key = null; },
      paid: (unit, amount) => !find("#search-again").checked && Number(amount) <= (this.paid.get(this.#priced(unit)) ?? 0),
    });
    this.key = null;
    this.shown = null;
    this.busy = false;
    find("#asking").addEventListener("submit", (event) => { event.preventDefault(); this.ask(); });
    find("#rehearse").addEventListener("click", () => this.rehearse());
    find("#example").addEventListener("click", () => { this.editor.value = data.example; this.editor.area.focus(); });
    find("#dataset").addEventListener("change", (event) => {
      location.assign(`/ask?dataset=${encodeURIComponent(event.target.value)}`);
    });
    find("#delta").addEventListener("change", () => { this.key = null; this.preview.look(); });
    find("#search-again").addEventListener("change", () => { this.key = null; this.preview.look(); });
    find("#block")?.addEventListener("change", () => { this.#changed(); this.preview.rebudget({ fit: true }); this.preview.look(); });
    for (const one of document.querySelectorAll("[data-insert]")) {
      one.addEventListener("click", () => this.editor.insert(nameInSql(one.dataset.insert)));
    }
    for (const one of document.querySelectorAll("[data-way]")) one.addEventListener("click", () => this.#write(one.dataset));
    this.#inEpsilon();
    this.preview.look();
  }

  // What is asked, whatever it costs.
  #asked() {
    const { question: sql, block = "" } = question();
    return JSON.stringify(this.publishing.isGrid ? this.#publication() : [sql.trim(), block]);
  }

  // What a price is paid for: an answer serves all lower prices of its kind.
  #priced(unit) { return JSON.stringify([this.#asked(), question().delta ?? "", unit]); }

  // Another question: it gets a name of its own, and what was answered stands apart from it.
  #changed() {
    this.key = null;
    this.preview?.reprice();
    if (!this.shown) return;
    const earlier = this.#asked() !== this.shown.asked;
    if (this.shown.view !== null) this.shown.view.earlier(earlier);
    else if (earlier) find("#answer").hidden = true; // what was refused is asked no more
    if (earlier && !this.shown.earlier) find("#said").textContent = "What is below answers an earlier question.";
    this.shown.earlier = earlier;
  }

  // What is published is priced in epsilon.
  #inEpsilon() {
    const only = this.publishing.mode !== "sql";
    if (only) this.preview.into("epsilon", { look: false });
    find("#units")?.toggleAttribute("hidden", only);
  }

  // A question to begin with, and the delta that it needs.
  #write({ way, delta }) {
    if (delta) this.preview.into("epsilon", { look: false });
    find("#delta").value = delta;
    if (delta) find("#more").open = true;
    this.editor.value = way;
    this.editor.area.focus();
  }

  // What is published, with the part of the data that was chosen.
  #publication() {
    const { block } = question();
    return { ...this.publishing.publication(), ...(block ? { block } : {}) };
  }

  // Everything that one picture needs, in one request.
  async #before(said, signal) {
    find("#made-up").textContent = this.publishing.isGrid ? "made up" : "heights made up, error bars real";
    if (this.publishing.isGrid) return foreseen({ ...this.#publication(), epsilon: said.epsilon }, signal);
    const body = { ...question(), ...said };
    if (!body.question.trim()) return null;
    const [priced, unit] = [this.#priced(this.preview.unit), this.preview.unit];
    const told = await post("/api/preview", body, { signal });
    if (!body.search_again) this.#learn(priced, unit, told.points);
    return told;
  }

  // What the ledger knows to be paid: asked in another tab, or of data that are others by now.
  #learn(priced, unit, points) {
    const below = (paid) => points.filter((one) => one.paid === paid).map((one) => Number(one[unit]));
    const known = this.paid.get(priced) ?? 0;
    this.paid.set(priced, Math.max(0, ...below(true), ...(below(false).some((one) => one <= known) ? [] : [known])));
  }

  // One name for one asking: pressing again after a lost connection does not pay twice.
  async ask({ left = false } = {}) {
    if (this.busy) return;
    const seconds = Number(find("#deadline").value);
    const grid = this.publishing.isGrid;
    const title = this.publishing.mode === "sql" ? "Answer" : "Published";
    const body = { ...(grid ? this.#publication() : question()), ...this.preview.paying, deadline: seconds };
    this.key ??= [...crypto.getRandomValues(new Uint8Array(6))].map((one) => one.toString(16).padStart(2, "0")).join("");
    if (left) body.with_what_is_left = true;
    else body.key = this.key;
    const asked = this.#asked();
    const [priced, price] = [this.#priced(this.preview.unit), Number(this.preview.amount)];
    const searches = Boolean(this.preview.told?.note);
    if (body.search_again) this.paid.clear(); // what was asked under the search before is another question then
    await this.#working(wait(seconds), { pays: true, asked }, async () => {
      const before = left ? await budgets() : null;
      const record = await post(grid ? "/api/publish" : "/api/ask", body);
      this.key = null;
      find("#search-again").checked = false; // it was paid, once
      const free = await wasFree(record, before);
      if (!left) this.paid.set(priced, Math.max(price, this.paid.get(priced) ?? 0));
      const words = [free ? "Nothing was charged: it was paid for before." : grid ? `It cost ${record.cost}, once. Everything that is asked of it from now on is free.`
        : `It cost ${record.cost}. It is stored: the same question at this price is free from now on.`];
      this.#show(answerView(record.release, { title, record, question: body.question ?? record.question, words, badge: free ? "cost nothing" : `cost ${record.cost}` }), record, asked);
    });
    await this.preview.refresh(await call("/api/budget").catch(() => null));
    if (searches) await this.preview.look(); // what was found is known now
  }

  async rehearse() {
    if (this.busy) return;
    const asked = this.#asked();
    const body = this.publishing.isGrid ? this.#publication() : question();
    await this.#working(() => {}, { pays: false, asked }, async () => {
      const { paying } = this.preview;
      const record = body.question === undefined ? (await foreseen({ ...body, ...paying })).rehearsal
        : await post("/api/rehearse", { ...body, ...paying });
      this.#show(answerView(record.release, { title: "Rehearsal", question: body.question ?? record.question, badge: "made up" }), null, asked);
    });
  }

  async #working(done, { pays, asked }, work) {
    this.busy = true;
    const buttons = [find("#ask"), find("#rehearse")];
    for (const one of buttons) one.disabled = true;
    try {
      await work();
    } catch (failure) {
      this.#refused(failure, { pays, asked });
    } finally {
      done();
      this.busy = false;
      for (const one of buttons) one.disabled = false;
    }
  }

  #show(view, record, asked) {
    const box = find("#answer");
    const more = record === null ? null : make("p", {}, make("a", { href: `/releases/${encodeURIComponent(record.id)}` },
      record.release.published || !view.keys.length || record.release.rows.length < 2 ? "Its own page, which stays"
        : "Roll it up, or take a range of it: free, as often as you like"));
    const free = record?.release.published ? [make("section", { class: "free-of", "aria-label": "Free from here" },
      make("div", { class: "row" }, make("h3", {}, "Free from here"), make("span", { class: "badge" }, "costs nothing")),
      freeQuestions(record))] : [];
    box.replaceChildren(view.element, ...free, ...(more ? [more] : []));
    box.hidden = false;
    view.draw();
    box.scrollIntoView({ block: "nearest" });
    find("h2", box).focus({ preventScroll: true });
    find("#said").textContent = record === null ? "The rehearsal is below." : `The answer is below; it ${find(".badge", box).textContent}.`;
    this.shown = { view, asked, earlier: false };
    if (asked !== this.#asked()) this.#changed(); // somebody went on typing
  }

  #refused(failure, { pays, asked }) {
    const box = find("#answer");
    if (failure.status === 402) find("#search-again").checked = false; // a search may have been paid
    const offers = [];
    const could = failure.told?.could;
    if (could && this.publishing.mode === "sql") {
      const [top, bottom = "1"] = could.split("/");
      const label = `Ask with what is left: ${this.preview.unit} ${Number(top) / Number(bottom)}`;
      const offer = make("button", { type: "button", class: "main", id: "with-what-is-left" }, label);
      offer.addEventListener("click", () => this.ask({ left: true }));
      offers.push(offer);
    }
    if (aboutDelta(failure)) find("#more").open = true;
    const told = problemBox(failure, { pays, offers });
    told.tabIndex = -1; // the button that had the focus was disabled: who has no mouse goes on from here
    box.replaceChildren(told);
    box.hidden = false;
    told.focus({ preventScroll: true });
    this.shown = { view: null, asked, earlier: false };
    box.scrollIntoView({ block: "nearest" });
  }
}

if (data !== null) {
  new Asking();
  charting();
}
