// A stream of server-sent events that reconnects by itself. It uses fetch instead of EventSource,
// which hides the status of a refusal and does not notice a silent connection.

import { Problem, address, send } from "./api.js";

const SILENCE_MS = 40_000; // the server sends a comment every 15 seconds
const AGAIN_MS = [250, 500, 1000, 2000, 4000, 5000];
// Without a slot: read until the stream is quiet for QUIET_MS, at most for READ_MS, then pause.
const QUIET_MS = 300;
const READ_MS = 1000;
const PAUSE_MS = 2000;
// a hidden tab closes its stream after this time, and catches up when it is visible again
const HIDDEN_MS = 30_000;
// Browsers open only six HTTP/1.1 connections per server, for all windows together. Streams share
// four of them, so that two stay free for requests.
const SLOTS = 4;

/**
 * Follow the stream at `path`. Calls `on.event({type, id, data})` for each event in order,
 * `on.state("connecting" | "live" | "lost", why)` for each change of state, and
 * `on.refused(problem)` when the server refuses, after which the stream ends. `after()` returns the
 * event to continue after, or null for "from now on".
 */
export class Stream {
  constructor(path, on, after = () => null) {
    this.path = path;
    this.on = on;
    this.after = after;
    this.failures = 0;
    this.closed = false;
    this.state = "";
    this.seen = () => this.visibility();
    document.addEventListener("visibilitychange", this.seen);
    window.addEventListener("online", this.seen);
    this.run();
  }

  close() {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.seen);
    window.removeEventListener("online", this.seen);
    clearTimeout(this.hiding);
    this.wake?.();
    this.aborter?.abort();
  }

  async run() {
    while (!this.closed) {
      if (document.hidden && this.paused) await this.untilSeen();
      if (this.closed) return;
      const release = await takeSlot();
      if (this.closed) return release?.();
      if (this.state !== "lost" && release) this.setState("connecting");
      let why = "";
      try {
        if (await this.read(Boolean(release))) {
          await this.pause(PAUSE_MS);
          continue;
        }
      } catch (error) {
        if (isRefusal(error)) {
          if (!this.closed) this.on.refused?.(error);
          return;
        }
        if (error instanceof Problem) why = error.message;
      } finally {
        release?.();
      }
      if (this.closed) return;
      if (this.paused) continue;
      this.setState("lost", why);
      await this.pause(AGAIN_MS[Math.min(this.failures++, AGAIN_MS.length - 1)]);
    }
  }

  /**
   * Read until the stream ends; without a slot, only the events so far. Returns whether to read
   * again after a pause.
   */
  async read(hasSlot) {
    this.aborter = new AbortController();
    const request = { headers: { Accept: "text/event-stream" }, signal: this.aborter.signal };
    try {
      const response = await this.within(
        SILENCE_MS,
        send(address(this.path, { after: this.after() }), request),
      );
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      return hasSlot ? await this.follow(reader) : await this.readSoFar(reader);
    } finally {
      this.aborter.abort();
    }
  }

  async follow(reader) {
    for (let rest = ""; ;) {
      const { done, value } = await this.within(SILENCE_MS, reader.read());
      if (done) return false;
      rest = this.take(rest + value);
    }
  }

  /** Read the events so far. The next read fetches a truncated block again. */
  async readSoFar(reader) {
    const begun = performance.now();
    let rest = "";
    let reading = reader.read();
    while (rest || performance.now() - begun < READ_MS) {
      const found = await this.within(
        rest ? SILENCE_MS : QUIET_MS,
        reading,
        rest ? null : { quiet: true },
      );
      if (found.done) return false;
      if (found.quiet) break;
      rest = this.take(rest + found.value);
      reading = reader.read();
    }
    reading.catch(() => {}); // its result is no longer needed
    this.failures = 0;
    this.setState("live");
    return true;
  }

  /** Handle every complete block. Returns the rest. */
  take(text) {
    this.failures = 0;
    this.setState("live");
    const blocks = text.split("\n\n");
    const rest = blocks.pop();
    for (const block of blocks) this.receive(block);
    return rest;
  }

  receive(block) {
    if (this.closed) return;
    const found = { type: "", id: null, data: "" };
    for (const line of block.split("\n")) {
      if (line.startsWith("id: ")) found.id = Number(line.slice(4));
      else if (line.startsWith("event: ")) found.type = line.slice(7);
      else if (line.startsWith("data: ")) found.data += line.slice(6);
    }
    if (found.id !== null || found.data)
      this.on.event({ ...found, data: found.data ? JSON.parse(found.data) : null });
  }

  /** Await `reading`. After `ms` of silence return `otherwise`, or throw if that is null. */
  async within(ms, reading, otherwise = null) {
    let timer;
    const silence = new Promise((done, fail) => {
      timer = setTimeout(
        () => (otherwise ? done(otherwise) : fail(new Error("the stream is silent"))),
        ms,
      );
    });
    try {
      return await Promise.race([reading, silence]);
    } finally {
      clearTimeout(timer);
    }
  }

  setState(state, why = "") {
    if (state === this.state) return;
    this.state = state;
    this.on.state?.(state, why);
  }

  visibility() {
    clearTimeout(this.hiding);
    if (document.hidden) {
      this.hiding = setTimeout(() => {
        this.paused = true;
        this.aborter?.abort();
      }, HIDDEN_MS);
    } else {
      this.paused = false;
      this.failures = 0;
      this.wake?.();
    }
  }

  untilSeen() {
    return new Promise((done) => (this.wake = done));
  }

  pause(ms) {
    return new Promise((done) => {
      this.wake = done;
      setTimeout(done, ms);
    });
  }
}

/** Are connections scarce? Not over HTTP/2 and later; without locks, windows cannot coordinate. */
function needsSlots() {
  const isShared = performance
    .getEntries()
    .some(({ nextHopProtocol: protocol }) => protocol === "h2" || protocol === "h3");
  return Boolean(navigator.locks) && !isShared;
}

/** Take a slot. Returns a function that releases it, or null if all slots are taken. */
async function takeSlot() {
  if (!needsSlots()) return () => {};
  for (let slot = 0; slot < SLOTS; slot++) {
    const release = await tryLock(`laissez.stream.${slot}`);
    if (release) return release;
  }
  return null;
}

/** Take a lock. Returns a function that releases it, or null if another window holds it. */
function tryLock(name) {
  return new Promise((done) => {
    navigator.locks.request(name, { ifAvailable: true }, (lock) =>
      lock ? new Promise((release) => done(release)) : done(null),
    );
  });
}

/** Does the server refuse the stream for good? Timeouts and rate limits pass. */
function isRefusal(error) {
  if (!(error instanceof Problem)) return false;
  return error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status);
}
