// The events that the console knows: those of the feed, and older ones fetched on demand.

import { Problem, get } from "./api.js";

const PAGE = 1000; // older events per request
const PAGES_MOST = 10; // per click on "Show older"
const KEPT = 20_000; // plus the older events that were fetched
const CALM_MS = 200; // batches events that arrive together
const PAGES_AT_START = 3;
const olderEvents = new WeakMap(); // feed -> events before those of the feed

export class EventLog {
  /** Calls `onChange()` shortly after the list of events changes. */
  constructor(feed, onChange) {
    this.feed = feed;
    this.onChange = onChange;
    this.events = [...feed.events]; // oldest first
    this.most = KEPT;
    this.isEndless = true; // the server may have older events
    this.wasCut = false; // events were missed during a long disconnection
    this.stop = feed.on((entry) => this.receive(entry));
  }

  close() {
    clearTimeout(this.waiting);
    this.stop();
  }

  receive(entry) {
    if (entry.n !== undefined) this.events.push(entry);
    else if (entry.event.type === "gap") this.cut();
    else if (entry.event.type === "backfill") this.prepend(this.feed.events);
    else return;
    if (this.events.length > this.most) this.events.splice(0, this.events.length - this.most);
    this.waiting ??= setTimeout(() => {
      this.waiting = null;
      this.onChange();
    }, CALM_MS);
  }

  cut() {
    this.events = [];
    this.wasCut = true;
  }

  prepend(events) {
    const first = this.first;
    const older = events.filter(({ n }) => n < first);
    this.events = [...older, ...this.events];
    this.most += older.length;
  }

  get first() {
    return this.events.length ? this.events[0].n : Infinity;
  }

  get last() {
    return this.events.length ? this.events.at(-1).n : null;
  }

  /** How many numbers between the first and the last event are missing: 0 unless there is a bug. */
  get missing() {
    return this.events.length ? this.last - this.first + 1 - this.events.length : 0;
  }

  /** Matching events up to number `upper`, newest first, at most `most`. */
  newest(matches, upper, most) {
    const found = [];
    for (let i = this.events.length - 1; i >= 0 && found.length < most; i--) {
      if (this.events[i].n <= upper && matches(this.events[i])) found.push(this.events[i]);
    }
    return found;
  }

  /** Count the matching events after number `n`. */
  countAfter(n, matches) {
    let found = 0;
    for (let i = this.events.length - 1; i >= 0 && this.events[i].n > n; i--)
      if (matches(this.events[i])) found++;
    return found;
  }

  /** Fetch older events until some match. Returns whether any did. */
  async older(matches) {
    for (let page = 0; page < PAGES_MOST && this.isEndless && this.events.length; page++) {
      const found = await this.pageBefore(this.first);
      this.prepend(found);
      if (this.first === 1) this.isEndless = false;
      if (found.some(matches)) return true;
    }
    return false;
  }

  async pageBefore(first) {
    try {
      return await this.page(Math.max(0, first - 1 - PAGE), first);
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.status !== 410) throw problem;
      this.isEndless = false;
      return this.oldest(first);
    }
  }

  /** The oldest events that the server still keeps, before number `first`. */
  async oldest(first) {
    const { data } = await get("/v1/events", { limit: 1 });
    return data.length && data[0].n < first ? this.page(data[0].n - 1, first) : [];
  }

  async page(after, first) {
    const { data } = await get("/v1/events", { after, limit: first - 1 - after || 1 });
    return data.filter(({ n }) => n < first);
  }
}

/** All known events, oldest first: [{n, event}]. */
export function knownEvents(feed) {
  const older = olderEvents.get(feed) ?? [];
  const first = feed.events[0]?.n ?? Infinity;
  return [...older.filter(({ n }) => n < first), ...feed.events];
}

/** Fetch older events once per sign-in. Calls `done()` after each page. */
export async function fetchOlderEvents(feed, done) {
  if (olderEvents.has(feed) || !feed.events.length) return;
  const older = [];
  olderEvents.set(feed, older);
  let first = feed.events[0].n;
  try {
    for (let page = 0; page < PAGES_AT_START && first > 1; page++) {
      const after = Math.max(0, first - 1 - PAGE);
      const { data } = await get("/v1/events", {
        after,
        limit: Math.min(PAGE, first - 1 - after),
      });
      older.unshift(...data.filter(({ n }) => n < first));
      first = after + 1;
      done();
    }
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem; // older events are no longer kept
  }
}

/**
 * Find the event that ended a lease, among events older than the known ones; null if it is no
 * longer kept. Event numbers rise with time and have no gaps, so a binary search by time works.
 */
export async function findLeaseEnd(feed, id, ended) {
  let [low, high] = [0, knownEvents(feed)[0]?.n ?? 0];
  try {
    while (high - low > PAGE / 2) {
      const middle = (low + high) >> 1;
      if ((await timeAfter(middle)) < ended) low = middle;
      else high = middle + 1;
    }
    const { data } = await get("/v1/events", { after: low, limit: PAGE });
    return (
      data.find(({ event }) => event.type === "lease.ended" && event.lease === id)?.event ?? null
    );
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 410) return null;
    throw problem;
  }
}

/** The time of the event after a number; -Infinity if that event is no longer kept. */
async function timeAfter(n) {
  try {
    const { data } = await get("/v1/events", { after: n, limit: 1 });
    return data.length ? Date.parse(data[0].event.at) : Infinity;
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 410) return -Infinity;
    throw problem;
  }
}
