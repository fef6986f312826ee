// Requests to the public API. The browser sends the sign-in cookie; this module never sees a key
// after signing in.

const ATTEMPTS = 4;
const PAUSE_MS = 400;
const PAGE = 1000;
const WAIT_MS = 30_000; // per request; a connection that died silently would block for much longer
const UNANSWERED_MAX = 100;

/** A refusal: `code` is stable, `detail` is for people. */
export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** No answer came: the server may or may not have carried out the request. */
class NoAnswer extends Problem {
  constructor(detail = "The server does not answer.") {
    super(0, "no_answer", detail);
  }
}

const UNKNOWN =
  "The server does not answer, so the outcome of this request is unknown. Try again: " +
  "repeating the request is safe.";

let whenSignedOut = () => {};
let ahead = 0; // the server's clock minus ours, in milliseconds

/** Calls `act` when the server no longer accepts the sign-in. */
export function onSignedOut(act) {
  whenSignedOut = act;
}

/** The current time by the server's clock. */
export function serverNow() {
  return Date.now() + ahead;
}

/**
 * Learn the server's time from the Date header, which has whole seconds: ignore smaller
 * differences.
 */
function learnTime(response) {
  const difference = Date.parse(response.headers.get("Date") ?? "") - Date.now();
  if (Number.isFinite(difference)) ahead = Math.abs(difference) < 2000 ? 0 : difference;
}

export async function get(path, parameters = {}, signal = undefined) {
  const response = await send(address(path, parameters), {
    headers: { Accept: "application/json" },
    signal: withTimeout(signal),
  });
  return read(response);
}

function withTimeout(signal) {
  const late = AbortSignal.timeout(WAIT_MS);
  return signal ? AbortSignal.any([signal, late]) : late;
}

/** Read the answer. An answer that breaks off counts as no answer. */
async function read(response) {
  try {
    return response.status === 204 ? null : await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new NoAnswer();
  }
}

/** Fetch all items of a list page by page, up to about `most`. */
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

const unanswered = new Map(); // request -> idempotency key, for changes whose outcome is unknown
// a request with a key must not be kept, and a preview needs no repeat
const NEVER_KEPT = ["/v1/signin", "/v1/preview"];

/**
 * Send a change, with retries. All attempts carry the same idempotency key, so the server carries
 * the change out once. If no attempt is answered, the next identical request reuses the key, so
 * that an order is not placed twice.
 */
export async function change(method, path, body = undefined) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const asked = `${method} ${path} ${text}`;
  const key = unanswered.get(asked) ?? newId();
  unanswered.delete(asked);
  try {
    return await sendWithRetries(method, path, text, key);
  } catch (problem) {
    if (!(problem instanceof NoAnswer) || NEVER_KEPT.includes(path)) throw problem;
    unanswered.set(asked, key);
    if (unanswered.size > UNANSWERED_MAX) unanswered.delete(unanswered.keys().next().value);
    throw new NoAnswer(UNKNOWN);
  }
}

/**
 * Is a retry likely to succeed? True without a connection, above a rate limit, and while the server
 * starts.
 */
export function isTemporary(problem) {
  return problem instanceof NoAnswer || problem.status === 429 || problem.status === 503;
}

async function sendWithRetries(method, path, body, key) {
  const headers = { Accept: "application/json", "X-Laissez-Console": "1", "Idempotency-Key": key };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  for (let attempt = 1; ; attempt++) {
    try {
      return await read(await send(path, { method, headers, body, signal: withTimeout() }));
    } catch (problem) {
      const passing = isTemporary(problem);
      if (!passing || attempt === ATTEMPTS) throw problem;
      await new Promise((done) => setTimeout(done, PAUSE_MS * 2 ** (attempt - 1)));
    }
  }
}

/** Fetch, and throw a Problem unless the response is a success. */
export async function send(path, request) {
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

/** Append a node to a path: encode every part, keep the slashes. */
export function at(path, node) {
  const parts = node.split("/");
  if (parts.includes(".") || parts.includes(".."))
    throw new Problem(404, "not_found", `There is no ${node}.`); // a URL cannot contain it
  return `${path}/${parts.map(encodeURIComponent).join("/")}`;
}

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
