// The editor: a plain textarea, so that keyboards, screen readers and undo work as everywhere, with
// its text coloured in a layer below it and a list of proposals at the caret.

import { make } from "./dom.js";
import { proposals, tokens } from "./sql.js";

export class Editor {
  constructor(area, { known, changed = () => {}, submit = () => {} }) {
    this.area = area;
    this.known = known;
    this.changed = changed;
    this.items = [];
    this.chosen = -1;
    this.start = 0;
    this.layer = make("pre", { class: "colours", "aria-hidden": "true" });
    this.list = make("ul", { class: "proposals", role: "listbox", id: "proposals", "aria-label": "Proposals" });
    this.said = make("div", { class: "only-read", "aria-live": "polite" });
    area.before(this.layer);
    area.after(this.list, this.said);
    this.list.hidden = true;
    for (const [name, value] of Object.entries({
      "aria-autocomplete": "list", "aria-controls": "proposals", "aria-haspopup": "listbox",
    })) area.setAttribute(name, value);
    area.addEventListener("input", () => { this.paint(); this.propose(); changed(); });
    area.addEventListener("keydown", (event) => this.#pressed(event, submit));
    area.addEventListener("blur", () => this.close());
    area.addEventListener("click", () => this.close());
    area.addEventListener("scroll", () => { this.#follow(); this.close(); });
    this.paint();
  }

  get value() { return this.area.value; }

  set value(text) {
    this.area.value = text;
    this.paint();
    this.close();
    this.changed();
  }

  // Puts text at the caret, as typing would: it can be undone.
  insert(text, from = this.area.selectionStart) {
    this.area.focus();
    this.area.setSelectionRange(from, this.area.selectionEnd);
    if (!document.execCommand("insertText", false, text)) this.area.setRangeText(text, from, this.area.selectionEnd, "end");
    this.close();
    this.paint();
    this.changed();
  }

  paint() {
    const caret = this.area.selectionStart;
    const parts = [];
    this.marker = make("span", { class: "caret" });
    let placed = false;
    for (const one of tokens(this.area.value)) {
      if (!placed && caret <= one.start) { parts.push(this.marker); placed = true; }
      parts.push(make("span", { class: one.kind }, one.text));
    }
    if (!placed) parts.push(this.marker);
    this.layer.replaceChildren(...parts, "\n");
    this.#follow();
  }

  #follow() {
    this.layer.scrollLeft = this.area.scrollLeft;
    this.layer.scrollTop = this.area.scrollTop;
  }

  propose(forced = false) {
    const caret = this.area.selectionStart;
    if (caret !== this.area.selectionEnd) { this.close(); return; }
    const found = proposals(this.area.value, caret, this.known(), { forced });
    this.items = found.items;
    this.start = found.start;
    if (!this.items.length) { this.close(); return; }
    this.list.replaceChildren(...this.items.map((one, i) => make("li", {
      role: "option", id: `proposal-${i}`, "aria-selected": "false",
      onmousedown: (event) => { event.preventDefault(); this.take(i); },
    }, make("span", { class: "label" }, one.label), one.detail ? make("span", { class: "soft" }, one.detail) : null)));
    this.list.hidden = false;
    this.choose(0);
    this.paint();
    const at = this.marker.getBoundingClientRect();
    const box = this.area.parentElement.getBoundingClientRect();
    const left = Math.min(at.left - box.left, Math.max(box.width - this.list.offsetWidth - 4, 0));
    this.list.style.left = `${Math.max(left, 0)}px`;
    this.list.style.top = `${at.bottom - box.top + 4}px`;
    const many = this.items.length;
    this.said.textContent = `${many} proposal${many === 1 ? "" : "s"}: ${this.items[0].label}`;
  }

  choose(which) {
    const options = [...this.list.children];
    this.chosen = (which + options.length) % options.length;
    options.forEach((one, i) => one.setAttribute("aria-selected", String(i === this.chosen)));
    options[this.chosen].scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", `proposal-${this.chosen}`);
  }

  take(which) {
    const { label } = this.items[which];
    this.insert(label, this.start);
  }

  close() {
    this.list.hidden = true;
    this.items = [];
    this.chosen = -1;
    this.area.removeAttribute("aria-activedescendant");
    this.said.textContent = "";
  }

  #pressed(event, submit) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.close();
      submit();
      return;
    }
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.propose(true);
      return;
    }
    if (!this.items.length) return;
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) {
      event.preventDefault();
      this.choose(this.chosen + moves[event.key]);
    } else if (event.key === "Enter" || event.key === "Tab") {
      event.preventDefault();
      this.take(this.chosen);
    } else if (event.key === "Escape") {
      event.preventDefault();
      this.close();
    } else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) this.close();
  }
}
