// Before paying: the error at every price, moved by a slider without asking the server again.

import { chartOf, percent } from "./answers.js";
import { post } from "./api.js";
import { charting } from "./charts.js";
import { figure, find, later, make, problemBox } from "./dom.js";
import { aboutDelta, wordsOnPage } from "./problems.js";

const STEPS = [1, 1.5, 2, 3, 4, 5, 7];

// Prices that people would type, from a hundredth of what can be paid up to all of it.
export function prices(most) {
  const found = [];
  for (let power = -12; power <= 3; power += 1) {
    for (const step of STEPS) {
      const price = Number((step * 10 ** power).toPrecision(3));
      if (price >= most / 100 && price <= most) found.push(price);
    }
  }
  const scale = 10 ** (2 - Math.floor(Math.log10(most)));
  const all = Number((Math.floor(most * scale + 1e-6) / scale).toPrecision(3));
  return found.includes(all) ? found : [...found, all];
}

const plain = (number) => String(Number(Number(number).toPrecision(6)));

// What is left, in four digits and never more than it is.
function atLeast(number) {
  const size = Number(number);
  if (!(size > 0)) return "0";
  const scale = 10 ** (3 - Math.floor(Math.log10(size)));
  return plain(Math.floor(size * scale * (1 + 1e-12) + 1e-9) / scale);
}

// The epsilon that costs a rho: epsilon tanh(epsilon / 2) of it, as the ledger counts.
function epsilonOf(rho) {
  let [low, high] = [0, rho + 2];
  for (let i = 0; i < 60; i += 1) {
    const middle = (low + high) / 2;
    if (middle * Math.tanh(middle / 2) <= rho) low = middle; else high = middle;
  }
  return low;
}

const UNITS_SAY = {
  epsilon: "The noise is geometric. What it costs of the budget, in rho, is below.",
  rho: "The noise is Gaussian. This is what the budget adds up: several numbers at once are more exact than in epsilon.",
};

export class Preview {
  // `ask` gets what is known before paying, at a price and others; `verb` is what the button does;
  // `paid`: whether this was paid for already, at this price or a higher one.
  constructor(data, { question, ask, verb, paid, changed }) {
    this.data = data;
    this.question = question;
    this.ask = ask;
    this.verb = verb;
    this.paid = paid;
    this.changed = changed;
    this.again = later(400, () => this.look());
    this.told = null;
    this.chart = null;
    this.budget = data.budgets;
    this.charts = true;
    charting().then((embed) => { if (embed === null) this.#noCharts(); });
    this.extra = null;
    this.slider = find("#price");
    this.typed = find("#epsilon");
    this.unit = data.epsilon === null ? data.units.at(-1) : "epsilon";
    this.amount = data.epsilon ?? "0.1";
    this.#units();
    this.rebudget({ fit: data.epsilon === null });
    this.typed.value = this.amount;
    this.slider.addEventListener("input", () => this.#set(plain(this.steps[Number(this.slider.value)])));
    this.typed.addEventListener("change", () => this.type(this.typed.value.trim()));
    find("#find-price").addEventListener("click", () => this.findPrice());
    find("#within").addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); this.findPrice(); }
    });
    find("#rows").addEventListener("change", () => this.look());
    this.#price();
  }

  // Without pictures nothing here is made up, and no words are about one.
  #noCharts() {
    this.charts = false;
    find("#made-up").hidden = true;
    if (this.told !== null) this.#errors();
  }

  // The budget that this question is charged to.
  account() {
    const block = this.question().block ?? "";
    return this.budget.find((one) => one.blocks.includes(block)) ?? this.budget[0] ?? null;
  }

  // Another part of the data may have another budget: the steps are what it can pay.
  rebudget({ fit = false } = {}) {
    const account = this.account();
    const all = Number(account?.left) || Number(account?.total) || 1;
    const most = this.unit === "epsilon" && account?.unit === "rho" ? epsilonOf(all) : all;
    this.steps = prices(Math.min(most, 100));
    this.slider.max = this.steps.length - 1;
    if (fit && Number(this.amount) > this.steps.at(-1)) this.#set(plain(this.steps.at(-1)));
    this.#place();
  }

  // The price as the API takes it.
  get paying() { return { [this.unit]: this.amount }; }

  // A budget in rho can be asked in either; what is published is priced in epsilon.
  #units() {
    for (const one of document.querySelectorAll('input[name="unit"]')) {
      one.checked = one.value === this.unit;
      one.addEventListener("change", () => this.into(one.value));
    }
    this.#unitSaid();
  }

  #unitSaid() {
    find("#unit").textContent = this.unit;
    this.typed.setAttribute("aria-label", `Price, in ${this.unit}, typed`);
    if (find("#unit-says")) find("#unit-says").textContent = UNITS_SAY[this.unit];
  }

  // Another unit: a price that costs about as much.
  into(unit, { look = true } = {}) {
    if (unit === this.unit) return;
    const amount = Number(this.amount) || 0.1;
    this.unit = unit;
    for (const one of document.querySelectorAll('input[name="unit"]')) one.checked = one.value === unit;
    this.#unitSaid();
    this.rebudget();
    const about = unit === "rho" ? amount * Math.tanh(amount / 2) : epsilonOf(amount);
    this.#set(plain(this.steps[this.#nearest(about)]));
    this.#place();
    if (look) this.look();
  }

  // Everything that one picture needs, in one request.
  async look() {
    this.stop?.abort();
    const stop = new AbortController();
    this.stop = stop;
    const known = [...new Set([...this.steps.map(plain), this.amount])].slice(0, 64);
    const said = { [`${this.unit}s`]: known, ...this.paying };
    const rows = find("#rows").value.trim();
    if (rows) said.rows = rows;
    try {
      const told = await this.ask(said, stop.signal);
      if (told === null) return;
      this.told = told;
    } catch (failure) {
      if (failure.name === "AbortError") return;
      this.told = null;
      if (aboutDelta(failure)) find("#more").open = true;
      find("#preview-problem").replaceChildren(problemBox(failure, { calm: true }));
      find(".before").classList.add("stale");
      return;
    }
    find(".before").classList.remove("stale");
    find("#preview-problem").replaceChildren(...(this.told.note ? [make("p", { class: "soft" }, wordsOnPage(this.told.note))] : []));
    this.#offerSearch(this.told.explain?.found_before ?? []);
    find("#words").textContent = this.told.explain?.text ?? "";
    find("#words").hidden = find("#words").textContent === "";
    const supposes = this.told.explain?.columns.some((one) => one.note.startsWith("for a group of"));
    find("#rows-field").hidden = !supposes;
    this.chart = this.told.rehearsal && chartOf(this.told.rehearsal.release, { within: (name) => this.#within(name) });
    find("#preview").replaceChildren(this.chart?.element ?? make("p", { class: "soft" }, "There is no picture of so many numbers."));
    this.#tell();
  }

  // Another search can be paid for where the question needs what was found before, and only there.
  #offerSearch(found) {
    find("#again-field").hidden = found.length === 0;
    if (found.length === 0) find("#search-again").checked = false;
    const price = found.map((one) => `epsilon ${one.epsilon}`).join(" and ");
    find("#again-says").textContent = found.length === 0 ? ""
      : `Found for you before: ${found.map((one) => one.name).join(" and ")}. That costs nothing now; another search costs ${price}.`;
  }

  #point() {
    return this.told?.points.find((one) => one[this.unit] === this.amount) ?? null;
  }

  #within(name) {
    return this.#point()?.columns.find((one) => one.name === name)?.within ?? null;
  }

  #nearest(wanted) {
    return this.steps.reduce((best, one, i) => (
      Math.abs(Math.log(one / wanted)) < Math.abs(Math.log(this.steps[best] / wanted)) ? i : best), 0);
  }

  #place() {
    this.slider.value = this.#nearest(Number(this.amount));
    this.slider.setAttribute("aria-valuetext", `${this.unit} ${this.amount}`);
  }

  #set(amount) {
    this.amount = amount;
    this.typed.value = amount;
    this.slider.setAttribute("aria-valuetext", `${this.unit} ${amount}`);
    this.changed();
    this.#tell();
    if (this.told !== null && (this.told.note || this.#point() === null)) { // a note tells of one price
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
    this.into("epsilon", { look: false });
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
    this.rebudget();
    this.#tell();
  }

  // What the button says, while what it asks is another question already.
  reprice() { this.#price(); }

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
    find("#preview-says").textContent = !this.charts ? "There are no charts now: the table says how far off each number would be."
      : this.told.caption
        ? `What might be published at ${this.unit} ${this.amount}, of made-up rows: nobody has looked. Real data are seen more exactly where many people are.`
        : `What the answer might look like at ${this.unit} ${this.amount}. The groups are real, the `
        + `heights are not: nobody has looked. The bars show how far off each number would be, ${level} of the time.`;
    find("#price-says").textContent = `${this.unit} ${this.amount}: ${said.join(", ")}`;
  }

  #price() {
    const account = this.account();
    const button = find("#ask");
    if (account === null) { button.textContent = `${this.verb()} for ${this.unit} ${this.amount}`; find("#left").replaceChildren(); return; }
    const point = this.#point();
    const same = account.unit === this.unit; // then the price is what is taken off
    const typed = Number(this.amount) > 0 ? Number(this.amount) : null;
    const searches = Boolean(this.told?.note); // then it costs more, once, than its price
    const free = this.paid(this.unit, this.amount);
    const cost = searches || free ? null : point ? Number(point.cost[account.unit]) : same ? typed : null;
    const now = Number(account.left);
    const left = cost === null ? null : now - cost;
    let words = "";
    if (free) words = "; free, as you have paid for it";
    else if (searches) words = ", and what is to be found first";
    else if (left !== null && left < -1e-12) words = now > 0 ? `; more than the ${atLeast(now)} that is left` : "; nothing is left";
    else if (left !== null) words = `; ${same ? "" : `${account.unit} `}${atLeast(left)} will be left`;
    button.textContent = `${this.verb()} for ${this.unit} ${this.amount}${words}`;
    const share = (part) => String(Math.max(0, part / Number(account.total || 1)));
    find("#left").replaceChildren(
      make("div", { class: "numbers" },
        make("span", {}, make("strong", {}, atLeast(now)), " left now", left === null || left < 0 ? "" : ", ",
          ...(left === null || left < 0 ? [] : [make("strong", {}, atLeast(left)), " after it"])),
        make("span", { class: "soft" }, `of ${account.unit} ${plain(account.total)}`)),
      make("meter", { min: 0, max: 1, value: share(left === null || left < 0 ? now : left),
        "aria-label": left === null || left < 0 ? "Budget left now" : "Budget left after this question" }));
  }
}
