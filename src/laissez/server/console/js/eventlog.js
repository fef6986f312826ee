// The events that are at hand: those of the feed, and older ones that were asked for. Their numbers are dense, which shows that none is missing.

import { Problem, get } from "./api.js";

const PAGE = 1000; // older events that are asked for at once
const PAGES_MOST = 10; // in one search, before somebody must want more
const KEPT = 20_000; // and what was asked for beyond that
const CALM_MS = 200; // events that come together are told together

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
