// The public API, as any other client uses it. The cookie that signs in is the browser's business: no key is ever seen here after signing in.

const ATTEMPTS = 4;
const PAUSE_MS = 400;
const PAGE = 1000;
const WAIT_MS = 30_000; // for an answer; a connection that died in silence would be waited for much longer
const UNANSWERED_MAX = 100;

/** An answer that says no: `code` is stable, `detail` is for people. */
export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** No answer came. What was asked may or may not have been done. */
class NoAnswer extends Problem {
  constructor(detail = "The server does not answer.") {
    super(0, "no_answer", detail);
  }
}

const UNKNOWN =
  "The server does not answer, so it is not known whether this was done. Try again: it is done once, however often it is sent.";

let whenSignedOut = () => {};
let ahead = 0; // the server's clock less ours, in milliseconds

/** `act` is called when the server no longer knows us. */
export function onSignedOut(act) {
  whenSignedOut = act;
}

/** Now, by the server's clock. */
export function serverNow() {
  return Date.now() + ahead;
}

/** Every answer tells the server's time, to the second; a difference that small is none. */
function learnTime(response) {
  const difference = Date.parse(response.headers.get("Date") ?? "") - Date.now();
  if (Number.isFinite(difference)) ahead = Math.abs(difference) < 2000 ? 0 : difference;
}

export async function get(path, parameters = {}, signal = undefined) {
  const response = await sent(address(path, parameters), {
    headers: { Accept: "application/json" },
    signal: inTime(signal),
  });
  return read(response);
}

function inTime(signal) {
  const late = AbortSignal.timeout(WAIT_MS);
  return signal ? AbortSignal.any([signal, late]) : late;
}

/** The answer; one that breaks off is none. */
async function read(response) {
  try {
    return response.status === 204 ? null : await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new NoAnswer();
  }
}

/** Every item of a list, page by page; at most `most`. */
export async function all(path, parameters = {}, most = 20_000) {
  const items = [];
  let cursor = null;
  do {
    const page = await get(path, { limit: PAGE, ...parameters, ...(cursor ? { cursor } : {}) });
    items.push(...page.data);
    cursor = page.has_more ? page.cursor : null;
  } while (cursor && items.length < most);
  return items;
}

const unanswered = new Map(); // idempotency keys of changes that nobody knows the outcome of, by what was asked
const FORGOTTEN = ["/v1/signin", "/v1/preview"]; // a key is not kept, and a preview is made anew

/**
 * Change something. Every attempt carries the same idempotency key, so it is carried out once however often it is sent; a lost connection and a
 * server that is starting are therefore waited for. If no answer came at all, the same request sent later has the same key: an order that was
 * placed after all is not placed twice.
 */
export async function change(method, path, body = undefined) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const asked = `${method} ${path} ${text}`;
  const key = unanswered.get(asked) ?? newId();
  unanswered.delete(asked);
  try {
    return await attempted(method, path, text, key);
  } catch (problem) {
    if (!(problem instanceof NoAnswer) || FORGOTTEN.includes(path)) throw problem;
    unanswered.set(asked, key);
    if (unanswered.size > UNANSWERED_MAX) unanswered.delete(unanswered.keys().next().value);
    throw new NoAnswer(UNKNOWN);
  }
}

/** Whether the same question may be answered in a moment: no connection, too many requests, a server that is starting. */
export function isPassing(problem) {
  return problem instanceof NoAnswer || problem.status === 429 || problem.status === 503;
}

async function attempted(method, path, body, key) {
  const headers = { Accept: "application/json", "X-Laissez-Console": "1", "Idempotency-Key": key };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  for (let attempt = 1; ; attempt++) {
    try {
      return await read(await sent(path, { method, headers, body, signal: inTime() }));
    } catch (problem) {
      const passing = isPassing(problem);
      if (!passing || attempt === ATTEMPTS) throw problem;
      await new Promise((done) => setTimeout(done, PAUSE_MS * 2 ** (attempt - 1)));
    }
  }
}

/** A request whose answer is good, or a problem. */
export async function sent(path, request) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...request });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new NoAnswer();
  }
  learnTime(response);
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  if (response.status === 401) whenSignedOut();
  throw new Problem(
    response.status,
    said.code ?? "unknown",
    said.detail ?? `The server answered with ${response.status}.`,
  );
}

export function address(path, parameters = {}) {
  const query = new URLSearchParams(
    Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined),
  );
  return query.size ? `${path}?${query}` : path;
}

/** A path with a node in it: every part is encoded, the slashes stay. */
export function at(path, node) {
  const parts = node.split("/");
  if (parts.includes(".") || parts.includes(".."))
    throw new Problem(404, "not_found", `There is no ${node}.`); // no address can say it
  return `${path}/${parts.map(encodeURIComponent).join("/")}`;
}

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
