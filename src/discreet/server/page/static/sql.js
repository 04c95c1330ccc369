// SQL as far as an editor needs it: its words, and what could come next. What a question means is
// decided by the server alone.

const KEYWORDS = ("SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT AS AND OR NOT IN BETWEEN IS NULL LIKE CASE WHEN THEN "
  + "ELSE END JOIN ON ROLLUP USING DISTINCT ASC DESC TRUE FALSE FILTER WITHIN DATE").split(" ");
const FUNCTIONS = ("COUNT SUM AVG MEDIAN QUANTILE VAR_POP STDDEV_POP ROUND FLOOR CEIL ABS COALESCE LEAST GREATEST "
  + "EXTRACT LOWER UPPER").split(" ");
const PROPOSED = ["SELECT", "FROM", "WHERE", "GROUP BY", "GROUP BY ROLLUP (", "ORDER BY", "HAVING", "LIMIT", "AS", "AND", "OR", "NOT", "IN (",
  "BETWEEN", "IS NULL", "CASE WHEN", "THEN", "ELSE", "END", "DESC", "COUNT(*)", "COUNT(", "COUNT(DISTINCT ", "SUM(",
  "AVG(", "MEDIAN(", "VAR_POP(", "STDDEV_POP(", "FILTER (WHERE "];
const TOKEN = new RegExp([
  String.raw`(?<comment>--[^\n]*|/\*[\s\S]*?(?:\*/|$))`,
  String.raw`(?<text>'(?:[^']|'')*(?:'|$))`,
  String.raw`(?<name>"(?:[^"]|"")*(?:"|$))`,
  String.raw`(?<number>\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)`,
  String.raw`(?<word>[A-Za-z_]\w*)`,
  String.raw`(?<other>\s+|[^\s])`,
].join("|"), "gy");

export function tokens(text) {
  TOKEN.lastIndex = 0;
  const found = [];
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    const [kind] = Object.entries(match.groups).find(([, value]) => value !== undefined);
    const word = match[0].toUpperCase();
    const exact = kind !== "word" ? kind
      : KEYWORDS.includes(word) ? "keyword" : FUNCTIONS.includes(word) ? "function" : "word";
    found.push({ kind: exact, text: match[0], start: match.index, end: TOKEN.lastIndex });
  }
  return found;
}

export const nameInSql = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
const unquoted = (token) => (token.kind === "name" ? token.text.replace(/^"|"$/g, "").replaceAll('""', '"') : token.text);

function keyInSql(value, column) {
  if (column.of === "int" || column.of === "bool") return String(value);
  const text = `'${String(value).replaceAll("'", "''")}'`;
  return column.of === "date" ? `DATE ${text}` : text;
}

// The column that a value at this place is compared with: `dept = `, `dept IN ('a', `.
function compared(before, columns) {
  const solid = before.filter((one) => one.text.trim() !== "" && one.kind !== "comment");
  let at = solid.length - 1;
  const isValue = (one) => ["text", "number"].includes(one.kind) || one.text === "," || one.text === "(";
  while (at >= 0 && isValue(solid[at])) at -= 1;
  if (at >= 0 && ["=", ">", "<"].includes(solid[at].text)) {
    while (at >= 0 && ["=", ">", "<", "!"].includes(solid[at].text)) at -= 1;
  } else if (at >= 0 && solid[at].text.toUpperCase() === "IN") {
    at -= 1;
    if (at >= 0 && solid[at].text.toUpperCase() === "NOT") at -= 1;
  } else return null;
  return at < 0 ? null : columns.find((one) => one.name === unquoted(solid[at])) ?? null;
}

function ranked(items, typed) {
  const small = typed.toLowerCase();
  const rank = (one) => (one.match.startsWith(small) ? 0 : one.match.includes(small) ? 1 : 2);
  return items.map((one) => ({ ...one, match: one.label.toLowerCase().replace(/^['"]/, "") }))
    .filter((one) => rank(one) < 2).sort((a, b) => rank(a) - rank(b)).slice(0, 12);
}

// What could be written at the caret: the span that it would replace, and the proposals.
export function proposals(text, caret, known, { forced = false } = {}) {
  const all = tokens(text.slice(0, caret));
  const last = all.at(-1);
  const inside = last && ["word", "keyword", "function", "text", "name"].includes(last.kind) ? last : null;
  const before = inside ? all.slice(0, -1) : all;
  if (last?.kind === "comment") return { start: caret, items: [] };
  const column = compared(before, known.columns);
  if (column?.kind === "keys") {
    const typed = inside ? inside.text.replace(/^'/, "") : "";
    const whole = inside?.kind === "text" && inside.text.length > 1 && inside.text.endsWith("'");
    const items = column.keys.map((key) => ({ label: keyInSql(key, column), detail: column.name }));
    return { start: inside ? inside.start : caret, items: whole ? [] : ranked(items, typed) };
  }
  const previous = before.findLast((one) => one.text.trim() !== "");
  if (!forced && previous?.text.toUpperCase() === "AS") return { start: caret, items: [] };
  if (inside?.kind === "text" || (!inside && !forced)) return { start: caret, items: [] };
  const typed = inside ? inside.text.replace(/^"/, "") : "";
  const items = [
    ...known.columns.map((one) => ({ label: nameInSql(one.name), detail: one.what })),
    ...known.tables.map((one) => ({ label: nameInSql(one), detail: "table" })),
    ...known.joins.map((one) => ({ label: one, detail: "public table" })),
    ...PROPOSED.map((one) => ({ label: one, detail: "" })),
  ];
  const found = ranked(items, typed);
  const done = found.length === 1 && found[0].label.toLowerCase() === typed.toLowerCase();
  return { start: inside ? inside.start : caret, items: done ? [] : found };
}
