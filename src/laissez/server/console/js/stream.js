// A stream of server-sent events that reconnects by itself. It uses fetch instead of EventSource, which
// hides the status of a refusal and does not notice a silent connection.

import { Problem, address, sent } from "./api.js";

const SILENCE_MS = 40_000; // the server says something every 15 seconds
const AGAIN_MS = [250, 500, 1000, 2000, 4000, 5000];
const QUIET_MS = 300; // without a place for a lasting connection: read until nothing comes for a moment,
const GLANCE_MS = 1000; // or for so long at most,
const BRIEF_MS = 2000; // and again after a while
const HIDDEN_MS = 30_000; // a tab that nobody looks at gives its connection back after a while, and catches up when it is seen again
const PLACES = 4;

/**
 * Follow `path`. `on.event({type, id, data})` is called for each event in order, `on.state("connecting" | "live" | "lost", why)` when that changes,
 * `on.refused(problem)` when the server will not have us; then nothing more comes. `after()` says where to go on, or null for "from now on".
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
      const leave = await takeSlot();
      if (this.closed) return leave?.();
      if (this.state !== "lost" && leave) this.tell("connecting");
      let why = "";
      try {
        if (await this.read(Boolean(leave))) {
          await this.pause(BRIEF_MS);
          continue;
        }
      } catch (error) {
        if (error instanceof Problem) why = error.message;
        if (
          error instanceof Problem &&
          error.status >= 400 &&
          error.status < 500 &&
          error.status !== 429 &&
          error.status !== 408
        ) {
          if (!this.closed) this.on.refused?.(error);
          return;
        }
      } finally {
        leave?.();
      }
      if (this.closed) return;
      if (this.paused) continue;
      this.tell("lost", why);
      await this.pause(AGAIN_MS[Math.min(this.failures++, AGAIN_MS.length - 1)]);
    }
  }

  /** Read until the stream ends; if it is not to last, until a moment after its start. Gives whether it was left while it was well. */
  async read(lasts) {
    this.aborter = new AbortController();
    const request = { headers: { Accept: "text/event-stream" }, signal: this.aborter.signal };
    try {
      const response = await this.within(
        SILENCE_MS,
        sent(address(this.path, { after: this.after() }), request),
      );
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      return lasts ? await this.follow(reader) : await this.glance(reader);
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

  /** What had come by now. What is cut off in the middle is asked for again the next time. */
  async glance(reader) {
    const begun = performance.now();
    let rest = "";
    let reading = reader.read();
    while (rest || performance.now() - begun < GLANCE_MS) {
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
    reading.catch(() => {}); // nobody waits for it any more
    this.failures = 0;
    this.tell("live");
    return true;
  }

  /** Tell of every whole block; gives what is left. */
  take(text) {
    this.failures = 0;
    this.tell("live");
    const blocks = text.split("\n\n");
    const rest = blocks.pop();
    for (const block of blocks) this.hear(block);
    return rest;
  }

  hear(block) {
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

  /** What comes of `reading`; after a silence `otherwise`, or an error if that is null. */
  async within(ms, reading, otherwise = null) {
    let timer;
    const silence = new Promise((done, fail) => {
      timer = setTimeout(
        () => (otherwise ? done(otherwise) : fail(new Error("nothing was heard"))),
        ms,
      );
    });
    try {
      return await Promise.race([reading, silence]);
    } finally {
      clearTimeout(timer);
    }
  }

  tell(state, why = "") {
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

/** Where connections carry many requests at once (HTTP/2 and later), or there are no locks, everybody has a place. */
function isNeeded() {
  const isShared = performance
    .getEntries()
    .some(({ nextHopProtocol: protocol }) => protocol === "h2" || protocol === "h3");
  return Boolean(navigator.locks) && !isShared;
}

/** Take a place. Gives what to call to give it back, or null if all are taken. */
async function takeSlot() {
  if (!isNeeded()) return () => {};
  for (let place = 0; place < PLACES; place++) {
    const release = await tried(`laissez.stream.${place}`);
    if (release) return release;
  }
  return null;
}

function tried(name) {
  return new Promise((told) => {
    navigator.locks.request(name, { ifAvailable: true }, (lock) =>
      lock ? new Promise((release) => told(release)) : told(null),
    );
  });
}
