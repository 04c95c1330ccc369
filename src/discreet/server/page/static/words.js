// A policy in plain words, which come as a text of headings and items, as a part of a page.

import { make } from "./dom.js";

export function plainWords(words) {
  const parts = words.trim().split("\n\n").map((part) => {
    const [title, ...lines] = part.split("\n");
    const items = [];
    for (const line of lines) {
      if (line.startsWith("  - ")) items.push(line.slice(4));
      else if (items.length) items[items.length - 1] += ` ${line.trim()}`;
      else items.push(line.trim());
    }
    return make("section", {}, make("h3", {}, title), make("ul", {}, ...items.map((one) => make("li", {}, one))));
  });
  return make("div", { class: "words plain-words", tabindex: "0", role: "group", "aria-label": "The policy in plain words" }, ...parts);
}

for (const one of document.querySelectorAll("pre[data-words]")) one.replaceWith(plainWords(one.textContent));
