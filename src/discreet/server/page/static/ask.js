// The page for asking: a question, what it would cost and how exact it would be, and its answer.

import { answerView } from "./answers.js";
import { call, given, post } from "./api.js";
import { charting } from "./charts.js";
import { find, later, make, problemBox } from "./dom.js";
import { Editor } from "./editor.js";
import { Preview } from "./preview.js";
import { nameInSql } from "./sql.js";

const data = document.getElementById("data") ? given() : null;

function question() {
  const said = { question: find("#question").value, dataset: data.name };
  const block = find("#block")?.value;
  const delta = find("#delta").value.trim();
  if (block) said.block = block;
  if (delta) said.delta = delta;
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

class Asking {
  constructor() {
    this.editor = new Editor(find("#question"), {
      known: () => ({ columns: data.columns, tables: [data.name, ...data.lookups] }),
      changed: () => { this.key = null; this.look(); },
      submit: () => find("#asking").requestSubmit(),
    });
    this.preview = new Preview(data, question, () => { this.key = null; });
    this.look = later(700, () => this.preview.look());
    this.key = null;
    this.busy = false;
    find("#asking").addEventListener("submit", (event) => { event.preventDefault(); this.ask(); });
    find("#rehearse").addEventListener("click", () => this.rehearse());
    find("#example").addEventListener("click", () => { this.editor.value = data.example; this.editor.area.focus(); });
    find("#dataset").addEventListener("change", (event) => {
      location.assign(`/ask?dataset=${encodeURIComponent(event.target.value)}`);
    });
    for (const name of ["#block", "#delta"]) {
      find(name)?.addEventListener("change", () => { this.key = null; this.preview.look(); });
    }
    for (const one of document.querySelectorAll("[data-insert]")) {
      one.addEventListener("click", () => this.editor.insert(nameInSql(one.dataset.insert)));
    }
    this.preview.look();
  }

  // One name for one asking: pressing again after a lost connection does not pay twice.
  async ask({ left = false } = {}) {
    if (this.busy) return;
    const seconds = Number(find("#deadline").value);
    const body = { ...question(), epsilon: this.preview.epsilon, deadline: seconds };
    this.key ??= [...crypto.getRandomValues(new Uint8Array(6))].map((one) => one.toString(16).padStart(2, "0")).join("");
    if (left) body.with_what_is_left = true;
    else body.key = this.key;
    await this.#working(wait(seconds), async () => {
      const record = await post("/api/ask", body);
      this.key = null;
      const words = [`It cost ${record.cost}. It is stored: the same question at this price is free from now on.`];
      this.#show(answerView(record.release, { title: "Answer", record, words, badge: `cost ${record.cost}` }), record);
    });
    await this.preview.refresh(await call("/api/budget").catch(() => null));
  }

  async rehearse() {
    if (this.busy) return;
    await this.#working(() => {}, async () => {
      const record = await post("/api/rehearse", { ...question(), epsilon: this.preview.epsilon });
      this.#show(answerView(record.release, { title: "Rehearsal", badge: "made up" }), null);
    });
  }

  async #working(done, work) {
    this.busy = true;
    const buttons = [find("#ask"), find("#rehearse")];
    for (const one of buttons) one.disabled = true;
    try {
      await work();
    } catch (failure) {
      this.#refused(failure);
    } finally {
      done();
      this.busy = false;
      for (const one of buttons) one.disabled = false;
    }
  }

  #show(view, record) {
    const box = find("#answer");
    const more = record === null ? null : make("p", {}, make("a", { href: `/releases/${encodeURIComponent(record.id)}` },
      "Roll it up, or take a range of it: free, as often as you like"));
    box.replaceChildren(view.element, ...(more ? [more] : []));
    box.hidden = false;
    view.draw();
    box.scrollIntoView({ block: "nearest" });
    find("h2", box).focus({ preventScroll: true });
    find("#said").textContent = record === null ? "The rehearsal is below." : `The answer is below; it cost ${record.cost}.`;
  }

  #refused(failure) {
    const box = find("#answer");
    const offers = [];
    const could = failure.told?.could;
    if (could) {
      const [top, bottom = "1"] = could.split("/");
      const label = `Ask with what is left: epsilon ${Number(top) / Number(bottom)}`;
      const offer = make("button", { type: "button", class: "main", id: "with-what-is-left" }, label);
      offer.addEventListener("click", () => this.ask({ left: true }));
      offers.push(offer);
    }
    box.replaceChildren(problemBox(failure, { offers }));
    box.hidden = false;
    box.scrollIntoView({ block: "nearest" });
  }
}

if (data !== null) {
  new Asking();
  charting();
}
