// Before paying: the error at every price, moved by a slider without asking the server again.

import { chartOf, percent } from "./answers.js";
import { post } from "./api.js";
import { figure, find, later, make, problemBox } from "./dom.js";

const STEPS = [1, 1.5, 2, 3, 4, 5, 7];

// Prices that people would type, from a hundredth of a budget up to all of it.
export function prices(total) {
  const found = [];
  for (let power = -4; power <= 3; power += 1) {
    for (const step of STEPS) {
      const price = Number((step * 10 ** power).toPrecision(3));
      if (price >= total / 100 && price <= total) found.push(price);
    }
  }
  return found.length ? found : [total];
}

const plain = (number) => String(Number(Number(number).toPrecision(6)));

export class Preview {
  // `ask` gets what is known before paying, at a price and others; `verb` is what the button does.
  constructor(data, { question, ask, verb, changed }) {
    this.data = data;
    this.question = question;
    this.ask = ask;
    this.verb = verb;
    this.changed = changed;
    this.again = later(400, () => this.look());
    this.told = null;
    this.chart = null;
    this.budget = data.budgets;
    this.extra = null;
    this.slider = find("#price");
    this.typed = find("#epsilon");
    const start = data.epsilon ?? "0.1";
    this.steps = this.#steps();
    this.epsilon = start;
    this.typed.value = start;
    this.slider.max = this.steps.length - 1;
    this.#place();
    this.slider.addEventListener("input", () => this.#set(plain(this.steps[Number(this.slider.value)])));
    this.typed.addEventListener("change", () => this.type(this.typed.value.trim()));
    find("#find-price").addEventListener("click", () => this.findPrice());
    find("#within").addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); this.findPrice(); }
    });
    find("#rows").addEventListener("change", () => this.look());
    this.#price();
  }

  // The budget that this question is charged to.
  account() {
    const block = this.question().block ?? "";
    return this.budget.find((one) => one.blocks.includes(block)) ?? this.budget[0] ?? null;
  }

  #steps() {
    const account = this.account();
    const most = account?.unit === "epsilon" ? Number(account.total) : 10;
    return prices(Math.min(most || 1, 100));
  }

  // Everything that one picture needs, in one request.
  async look() {
    this.stop?.abort();
    const stop = new AbortController();
    this.stop = stop;
    const known = this.steps.map(plain);
    const epsilons = [...new Set([...known, this.epsilon])].slice(0, 64);
    const said = { epsilons, epsilon: this.epsilon };
    const rows = find("#rows").value.trim();
    if (rows) said.rows = rows;
    try {
      const told = await this.ask(said, stop.signal);
      if (told === null) return;
      this.told = told;
    } catch (failure) {
      if (failure.name === "AbortError") return;
      this.told = null;
      find("#preview-problem").replaceChildren(problemBox(failure, { calm: true }));
      find(".before").classList.add("stale");
      return;
    }
    find(".before").classList.remove("stale");
    find("#preview-problem").replaceChildren(...(this.told.note ? [make("p", { class: "soft" }, this.told.note)] : []));
    find("#words").textContent = this.told.explain?.text ?? "";
    const supposes = this.told.explain?.columns.some((one) => one.note.startsWith("for a group of"));
    find("#rows-field").hidden = !supposes;
    this.chart = this.told.rehearsal && chartOf(this.told.rehearsal.release, { within: (name) => this.#within(name) });
    find("#preview").replaceChildren(this.chart?.element ?? make("p", { class: "soft" }, "There is no picture of so many numbers."));
    this.#tell();
  }

  #point() {
    return this.told?.points.find((one) => one.epsilon === this.epsilon) ?? null;
  }

  #within(name) {
    return this.#point()?.columns.find((one) => one.name === name)?.within ?? null;
  }

  #place() {
    const wanted = Number(this.epsilon);
    const nearest = this.steps.reduce((best, one, i) => (
      Math.abs(Math.log(one / wanted)) < Math.abs(Math.log(this.steps[best] / wanted)) ? i : best), 0);
    this.slider.value = nearest;
    this.slider.setAttribute("aria-valuetext", `epsilon ${this.epsilon}`);
  }

  #set(epsilon) {
    this.epsilon = epsilon;
    this.typed.value = epsilon;
    this.slider.setAttribute("aria-valuetext", `epsilon ${epsilon}`);
    this.changed();
    this.#tell();
    if (this.told !== null && !this.told.note && this.#point() === null) {
      find(".before").classList.add("stale");
      this.again();
    }
  }

  // A typed price is no step of the slider: its errors are asked for.
  async type(text) {
    this.#set(text);
    if (Number(text) > 0) this.#place();
    if (this.#point() === null) await this.look();
  }

  async findPrice() {
    const within = find("#within").value.trim();
    if (!within) { find("#within").focus(); return; }
    const body = { ...this.question(), within };
    const rows = find("#rows").value.trim();
    if (rows) body.rows = rows;
    try {
      const told = await post("/api/explain", body);
      find("#preview-problem").replaceChildren();
      await this.type(plain(told.epsilon_for));
    } catch (failure) {
      find("#preview-problem").replaceChildren(problemBox(failure));
    }
  }

  async refresh(told) {
    for (const one of told?.accounts ?? []) {
      const mine = this.budget.find((known) => known.account === one.account);
      if (mine) Object.assign(mine, { left: one.left[mine.unit], total: one.total[mine.unit] });
    }
    this.#tell();
  }

  #tell() {
    this.#errors();
    this.#price();
    this.chart?.draw();
  }

  #errors() {
    const point = this.#point();
    if (point === null) { find("#errors").replaceChildren(); return; }
    const level = percent(this.told.explain.confidence);
    const notes = Object.fromEntries(this.told.explain.columns.map((one) => [one.name, one.note]));
    const groups = point.groups === null ? "groups that are found" : `${figure(point.groups)} group${point.groups === 1 ? "" : "s"}`;
    const typical = point.columns.some((one) => one.error !== null);
    const heads = ["Number", ...(typical ? ["Typically"] : []), `${level} within`];
    find("#errors").replaceChildren(make("table", {},
      make("caption", {}, this.told.caption ?? `How far off each number would be, in each of ${groups}`),
      make("thead", {}, make("tr", {}, ...heads.map((one, i) => make("th", { scope: "col", class: i ? "n" : null }, one)))),
      make("tbody", {}, ...point.columns.map((one) => make("tr", {},
        make("th", { scope: "row" }, one.name, notes[one.name] ? make("div", { class: "soft small plain" }, notes[one.name]) : null),
        typical ? make("td", { class: "n" }, one.error === null ? "depends" : figure(one.error, 3)) : null,
        make("td", { class: "n within" }, one.within === null ? "depends" : figure(one.within, 3)))))));
    const said = point.columns.filter((one) => one.within !== null).map((one) => `${one.name} within ${figure(one.within, 3)}`);
    find("#preview-says").textContent = this.told.caption
      ? `What might be published at epsilon ${this.epsilon}, of made-up rows: nobody has looked. Real data are seen more exactly where many people are.`
      : `What the answer might look like at epsilon ${this.epsilon}. The groups are real, the `
      + `heights are not: nobody has looked. The bars show how far off each number would be, ${level} of the time.`;
    find("#price-says").textContent = `Epsilon ${this.epsilon}: ${said.join(", ")}`;
  }

  #price() {
    const account = this.account();
    const button = find("#ask");
    if (account === null) { button.textContent = `${this.verb()} for epsilon ${this.epsilon}`; find("#left").replaceChildren(); return; }
    const point = this.#point();
    const pure = account.unit === "epsilon";
    const typed = Number(this.epsilon) > 0 ? Number(this.epsilon) : null;
    const searches = Boolean(this.told?.note); // then it costs more, once, than its price
    const cost = searches ? null : point ? Number(point.cost[account.unit]) : pure ? typed : null;
    const now = Number(account.left);
    const left = cost === null ? null : now - cost;
    let words = "";
    if (searches) words = ", and what is to be found first";
    else if (left !== null && left < -1e-12) words = now > 0 ? `; more than the ${plain(now)} that is left` : "; nothing is left";
    else if (left !== null) words = `; ${pure ? "" : `${account.unit} `}${plain(Math.max(left, 0))} will be left`;
    button.textContent = `${this.verb()} for epsilon ${this.epsilon}${words}`;
    const share = (part) => String(Math.max(0, part / Number(account.total || 1)));
    find("#left").replaceChildren(
      make("div", { class: "numbers" },
        make("span", {}, make("strong", {}, plain(now)), " left now", left === null || left < 0 ? "" : ", ",
          ...(left === null || left < 0 ? [] : [make("strong", {}, plain(left)), " after it"])),
        make("span", { class: "soft" }, `of ${account.unit} ${plain(account.total)}`)),
      make("meter", { min: 0, max: 1, value: share(left === null || left < 0 ? now : left),
        "aria-label": left === null || left < 0 ? "Budget left now" : "Budget left after this question" }));
  }
}
