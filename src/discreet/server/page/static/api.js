// Calls to the API: the token of this page goes along, and a failure is an Error with its fix.

const CSRF = document.querySelector('meta[name="csrf"]')?.content ?? "";

export class Failure extends Error {
  constructor(status, told, wait = 0) {
    super(told.message);
    this.status = status;
    this.told = told;
    this.wait = wait; // seconds until it is worth another try
  }
}

export async function call(path, { method = "GET", body, headers = {}, signal } = {}) {
  const sent = { "X-CSRF-Token": CSRF, Accept: "application/json", ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method, headers: sent, signal, credentials: "same-origin",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const words = "the server cannot be reached";
    throw new Failure(0, { error: "network", message: words, fix: "Try again in a moment." });
  }
  if (answer.status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  const told = await answer.json();
  if (!answer.ok) throw new Failure(answer.status, told, Number(answer.headers.get("Retry-After") ?? 0));
  return told;
}

export const post = (path, body, more = {}) => call(path, { method: "POST", body, ...more });

// What the server wrote into the page for its module.
export const given = () => JSON.parse(document.getElementById("data").textContent);
