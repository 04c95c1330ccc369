// The ledger: its chain is verified, and its head copied.

import { call } from "./api.js";
import { figure, find, make, problemBox, working } from "./dom.js";
import { copied } from "./owned.js";

const verify = find("#verify");

verify.addEventListener("click", async () => {
  const box = find("#verified");
  const done = working(verify);
  box.replaceChildren(make("p", { class: "soft" }, "Rebuilding every balance from the log…"));
  try {
    const told = await call("/api/ledger/verify");
    if (told.good) {
      const waiting = told.waiting ? `; ${figure(told.waiting)} charged and not answered yet` : "";
      box.replaceChildren(make("div", { class: "good" }, make("p", {},
        make("strong", {}, "The chain is whole. "),
        `${figure(told.entries)} entries and ${figure(told.questions)} questions were added up again, and every balance fits${waiting}.`)));
      find("#head").textContent = told.head.hash;
      find("#head-entry").textContent = String(told.head.entry);
    } else {
      box.replaceChildren(problemBox({ told: { message: told.message, fix: "Stop the server and compare with a backup before anything else is answered." } }));
    }
  } catch (failure) {
    box.replaceChildren(problemBox(failure));
  }
  done();
});

const copy = find("#copy-head");
copy.addEventListener("click", () => copied(`${find("#head-entry").textContent} ${find("#head").textContent}`, copy));
