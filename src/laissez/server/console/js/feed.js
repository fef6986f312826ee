// The feed of events, in order and without gaps: one stream that all pages share.

import { Problem, get } from "./api.js";
import { Stream } from "./stream.js";

const KEPT = 3000;
const BACKFILL = 300; // events from before the page was opened
const CALM_MS = 250; // batches changes that arrive together

export class Feed {
  constructor(onState, onRefused) {
    this.last = null; // the number of the last event
    this.events = []; // newest last: {n, event, tenant}
    this.listeners = new Set();
    this.onRefused = onRefused;
    this.onState = onState;
    this.open();
  }

  open() {
    this.stream = new Stream(
      "/v1/events",
      {
        event: (message) => this.receive(message),
        state: this.onState,
        refused: (problem) => this.refused(problem),
      },
      () => this.last,
    );
  }

  close() {
    this.stream.close();
  }

  /**
   * Call `listener` with each event, {n, event, tenant}, and each notice, {event}. Returns a
   * function that unsubscribes.
   */
  on(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Call `act` shortly after events of these types (or prefixes such as "lease."), once per burst,
   * and after a gap. Returns a function that unsubscribes.
   */
  onChange(types, act) {
    let waiting = null;
    const soon = () => {
      waiting ??= setTimeout(() => {
        waiting = null;
        act();
      }, CALM_MS);
    };
    const stop = this.on(({ event }) => {
      if (event.type === "gap" || types.some((type) => event.type.startsWith(type))) soon();
    });
    return () => {
      clearTimeout(waiting);
      stop();
    };
  }

  receive({ id, data }) {
    if (data === null) {
      if (this.last === null) this.begin(id);
      return;
    }
    if (id === null) {
      this.notify({ event: data });
      return;
    }
    if (this.last !== null && id <= this.last) return;
    this.last = id;
    this.keep(data);
    this.notify(data);
  }

  begin(n) {
    this.last = n;
    this.backfill(n);
  }

  async backfill(n) {
    try {
      const page = await get("/v1/events", { after: Math.max(0, n - BACKFILL), limit: BACKFILL });
      const earlier = page.data.filter((entry) => entry.n <= n);
      this.events.unshift(...earlier);
      this.notify({ event: { type: "backfill" } });
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem; // older events are no longer kept
    }
  }

  keep(entry) {
    this.events.push(entry);
    if (this.events.length > KEPT) this.events.splice(0, this.events.length - KEPT);
  }

  notify(entry) {
    for (const listener of [...this.listeners]) listener(entry);
  }

  /**
   * Handle a refused stream. After a disconnection longer than events are kept, report a gap and
   * start again from now.
   */
  refused(problem) {
    if (problem.status !== 410) {
      this.onRefused(problem);
      return;
    }
    this.last = null;
    this.events = [];
    this.notify({ event: { type: "gap" } });
    this.open();
  }
}
