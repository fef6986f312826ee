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

/**
 * The event that ended a lease at this moment, from further back than what is known; null if it is gone. Numbers rise with time and have no gaps, so
 * it is looked up as in a dictionary.
 */
export async function findEnd(feed, id, ended) {
  let [low, high] = [0, pastEvents(feed)[0]?.n ?? 0];
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
