// The events that the page knows: those of the feed, and older ones fetched on demand.

import { Problem, get } from "./api.js";

const PAGE = 1000; // older events that are asked for at once
const PAGES_MOST = 10; // in one search, before somebody must want more
const KEPT = 20_000; // and what was asked for beyond that
const CALM_MS = 200; // events that come together are told together
const PAGES = 3;
const kept = new WeakMap();

export class EventLog {
  /** `onChange()` is called soon after there are more events, or others. */
  constructor(feed, onChange) {
    this.feed = feed;
    this.onChange = onChange;
    this.events = [...feed.events]; // oldest first
    this.most = KEPT;
    this.isEndless = true; // there may be older ones on the server
    this.wasCut = false; // events were missed: too long away
    this.stop = feed.on((told) => this.hear(told));
  }

  close() {
    clearTimeout(this.waiting);
    this.stop();
  }

  hear(told) {
    if (told.n !== undefined) this.events.push(told);
    else if (told.event.type === "gap") this.cut();
    else if (told.event.type === "backfill") this.prepend(this.feed.events);
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

  /** How many numbers between the first and the last are not here: none, unless something is wrong. */
  get missing() {
    return this.events.length ? this.last - this.first + 1 - this.events.length : 0;
  }

  /** Events in `[.., upper]` that match, newest first, at most `most`. */
  newest(matches, upper, most) {
    const found = [];
    for (let i = this.events.length - 1; i >= 0 && found.length < most; i--) {
      if (this.events[i].n <= upper && matches(this.events[i])) found.push(this.events[i]);
    }
    return found;
  }

  /** How many match and came after `n`. */
  countAfter(n, matches) {
    let found = 0;
    for (let i = this.events.length - 1; i >= 0 && this.events[i].n > n; i--)
      if (matches(this.events[i])) found++;
    return found;
  }

  /** Ask for older ones until some match; gives whether any did. */
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

  /** Some that far back are no longer kept: what is left of them. */
  async oldest(first) {
    const { data } = await get("/v1/events", { limit: 1 });
    return data.length && data[0].n < first ? this.page(data[0].n - 1, first) : [];
  }

  async page(after, first) {
    const { data } = await get("/v1/events", { after, limit: first - 1 - after || 1 });
    return data.filter(({ n }) => n < first);
  }
}

/** All events that are known, oldest first: [{n, event}]. */
export function knownEvents(feed) {
  const older = kept.get(feed)?.events ?? [];
  const first = feed.events[0]?.n ?? Infinity;
  return [...older.filter(({ n }) => n < first), ...feed.events];
}

/** Fetch further back; `done()` is called if there was more. */
export async function fetchOlderEvents(feed, done) {
  if (kept.has(feed) || !feed.events.length) return;
  const past = { events: [] };
  kept.set(feed, past);
  let first = feed.events[0].n;
  try {
    for (let page = 0; page < PAGES && first > 1; page++) {
      const after = Math.max(0, first - 1 - PAGE);
      const { data } = await get("/v1/events", {
        after,
        limit: Math.min(PAGE, first - 1 - after),
      });
      past.events.unshift(...data.filter(({ n }) => n < first));
      first = after + 1;
      done();
    }
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem; // older ones are gone: there is just less to show
  }
}

/**
 * The event that ended a lease at this moment, from further back than what is known; null if it is gone. Numbers rise with time and have no gaps, so
 * it is looked up as in a dictionary.
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

/** When the event after this number was; of one that is no longer kept, long ago. */
async function timeAfter(n) {
  try {
    const { data } = await get("/v1/events", { after: n, limit: 1 });
    return data.length ? Date.parse(data[0].event.at) : Infinity;
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 410) return -Infinity;
    throw problem;
  }
}
