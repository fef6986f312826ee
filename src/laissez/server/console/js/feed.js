// Everything that happens, in order and without a gap: one stream for the whole console, whoever looks at it.

import { Problem, get } from "./api.js";
import { Stream } from "./stream.js";

const KEPT = 3000;
const BACKFILL = 300; // what had happened before the page was opened
const CALM_MS = 250; // changes that come together are told together

export class Feed {
  constructor(onState, onRefused) {
    this.last = null; // the number of the last event seen
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
        event: (told) => this.hear(told),
        state: this.onState,
        refused: (problem) => this.refused(problem),
      },
      () => this.last,
    );
  }

  close() {
    this.stream.close();
  }

  /** `listener(told)` for each event, {n, event, tenant}, and for each notice, {event}. Gives what to call to stop. */
  on(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Call `act` soon after events of these types (or a prefix such as "lease."), once for many; and when events may have been missed. */
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

  hear({ id, data }) {
    if (data === null) {
      if (this.last === null) this.begin(id);
      return;
    }
    if (id === null) {
      this.tell({ event: data });
      return;
    }
    if (this.last !== null && id <= this.last) return;
    this.last = id;
    this.keep(data);
    this.tell(data);
  }

  begin(n) {
    this.last = n;
    this.backfill(n);
  }

  async backfill(n) {
    try {
      const page = await get("/v1/events", { after: Math.max(0, n - BACKFILL), limit: BACKFILL });
      const earlier = page.data.filter((told) => told.n <= n);
      this.events.unshift(...earlier);
      this.tell({ event: { type: "backfill" } });
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem; // older events are gone: there is just less to show
    }
  }

  keep(told) {
    this.events.push(told);
    if (this.events.length > KEPT) this.events.splice(0, this.events.length - KEPT);
  }

  tell(told) {
    for (const listener of [...this.listeners]) listener(told);
  }

  /** Away for longer than events are kept: say so, and go on from now. Everything else is listed anew. */
  refused(problem) {
    if (problem.status !== 410) {
      this.onRefused(problem);
      return;
    }
    this.last = null;
    this.events = [];
    this.tell({ event: { type: "gap" } });
    this.open();
  }
}
