// A failure in the words of the page: the API says what a program does next, and here people press buttons.

const OF_PROGRAMS = /Idempotency-Key|Retry-After|with_what_is_left|Authorization|a new key/;
const LATER = "Try again in a while.";
const FIXES_ON_PAGE = {
  unauthorized: "Sign in again.",
  budget: "Choose a lower price, or ask the data owner for a larger allowance.",
  conflict: "Load this page again, and ask anew.",
  busy: LATER,
  unavailable: LATER,
  ledger: LATER,
  internal: "Try again; tell the data owner if it happens again.",
};
const CHARGED_ONCE = "Leave this page open, and press the button again in a while: it is charged once.";
const FIXES_OF_PAYING = {
  busy: CHARGED_ONCE,
  unavailable: CHARGED_ONCE,
  ledger: CHARGED_ONCE,
  internal: "Leave this page open, and press the button again: it is charged once. Tell the data owner if it happens again.",
};
const WORDS_ON_PAGE = [
  [/ask with delta=\.\.\. \(such as 1e-6\)/, "say a delta under More (such as 0.000001)"],
  [/declare dp\.Keys\(\[\.\.\.\]\)/, "list them in the policy"],
  [/declare dp\.PerPerson\('[^']*', (\w+)=\.\.\.\)/, "say $1 of a person in the policy"],
  [/say rows=\.\.\., a public guess, or ask by epsilon/, "say it beside “in a group of”, as a public guess, or choose a price"],
  [/`discreet register policy\.toml --(?:same-data|other-unit) [^`]*`/, "tick the box for it, which checking the text under Policy shows"],
  [/`discreet register policy\.toml --[a-z-]+ [^`]*`/, "tick the box for it"],
  [/; GET \/api\/\S+ lists them/, ""],
];

export const wordsOnPage = (text) => WORDS_ON_PAGE.reduce((said, [from, to]) => said.replace(from, to), text);

// Whether a refusal is about a delta, which is said in a field that may be folded.
export const aboutDelta = (failure) => ["query", "parameter"].includes(failure.told?.error) && /\bdelta\b/.test(failure.told.message);

// What a failure says here. `pays`: a question was to be paid; `offers`: a button asks with what is left.
export function toldOnPage(failure, { pays = false, offers = false } = {}) {
  const told = failure.told ?? { message: String(failure.message ?? failure), fix: "" };
  const { error: kind } = told;
  let message = wordsOnPage(told.message);
  if (!pays && ["limit", "busy"].includes(kind)) message = message.replace("; nothing was charged", "");
  let fix = wordsOnPage(told.fix ?? "");
  if (OF_PROGRAMS.test(fix)) {
    const wait = failure.wait || 1;
    fix = kind === "limit" ? `Wait ${wait} second${wait === 1 ? "" : "s"}, and try again.`
      : kind === "budget" && offers ? "The button asks with what is left. Or ask the data owner for a larger allowance."
        : (pays && FIXES_OF_PAYING[kind]) || FIXES_ON_PAGE[kind] || "";
  }
  return { message, fix };
}
