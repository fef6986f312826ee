// What happened before the page was opened, further back than the feed has it. Fetched once for a sign-in, whichever page asks first.

import { Problem, get } from "../api.js";

const PAGES = 3;
const PAGE = 1000;
const kept = new WeakMap();

/** All events that are known, oldest first: [{n, event}]. */
export function pastEvents(feed) {
  const older = kept.get(feed)?.events ?? [];
  const first = feed.events[0]?.n ?? Infinity;
  return [...older.filter(({ n }) => n < first), ...feed.events];
}

/** Fetch further back; `done()` is called if there was more. */
export async function fetchPast(feed, done) {
  if (kept.has(feed) || !feed.events.length) return;
  const past = { events: [] };
  kept.set(feed, past);
  let first = feed.events[0].n;
  try {
    for (let page = 0; page < PAGES && first > 1; page++) {
      const after = Math.max(0, first - 1 - PAGE);
      const { data } = await get("/v1/events", { after, limit: Math.min(PAGE, first - 1 - after) });
      past.events.unshift(...data.filter(({ n }) => n < first));
      first = after + 1;
      done();
    }
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem; // older ones are gone: there is just less to show
  }
}
