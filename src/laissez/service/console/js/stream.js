// A stream of server-sent events that heals by itself. Read with fetch, not EventSource: the status of a refusal matters (sign in again, history
// gone), and so does silence.

import { Problem, address, sent } from "./api.js";

const SILENCE_MS = 40_000; // the server says something every 15 seconds
const AGAIN_MS = [250, 500, 1000, 2000, 4000, 5000];
const HIDDEN_MS = 30_000; // a tab that nobody looks at gives its connection back after a while, and catches up when it is seen again

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
      if (this.state !== "lost") this.tell("connecting");
      let why = "";
      try {
        await this.read();
      } catch (error) {
        if (error instanceof Problem) why = error.message;
        if (error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429 && error.status !== 408) {
          if (!this.closed) this.on.refused?.(error);
          return;
        }
      }
      if (this.closed) return;
      if (this.paused) continue;
      this.tell("lost", why);
      await this.pause(AGAIN_MS[Math.min(this.failures++, AGAIN_MS.length - 1)]);
    }
  }

  async read() {
    this.aborter = new AbortController();
    const parameters = { after: this.after() };
    const response = await sent(address(this.path, parameters), { headers: { Accept: "text/event-stream" }, signal: this.aborter.signal });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      for (;;) {
        const { done, value } = await this.withinSilence(reader.read());
        if (done) return;
        this.failures = 0;
        this.tell("live");
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) this.hear(block);
      }
    } finally {
      this.aborter.abort();
    }
  }

  hear(block) {
    if (this.closed) return;
    const found = { type: "", id: null, data: "" };
    for (const line of block.split("\n")) {
      if (line.startsWith("id: ")) found.id = Number(line.slice(4));
      else if (line.startsWith("event: ")) found.type = line.slice(7);
      else if (line.startsWith("data: ")) found.data += line.slice(6);
    }
    if (found.id !== null || found.data) this.on.event({ ...found, data: found.data ? JSON.parse(found.data) : null });
  }

  async withinSilence(reading) {
    let timer;
    const silence = new Promise((_, fail) => {
      timer = setTimeout(() => fail(new Error("nothing was heard")), SILENCE_MS);
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
