// The tenant's current leases: listed regularly, and updated by every event in between.

import { all, serverNow } from "../api.js";
import { HOUR_MS, micros, ms } from "../format.js";
import { poll, throttled } from "../timers.js";

const EVERY_MS = 15_000;
const CALM_MS = 250; // batches changes of many leases
export const NEAR = 0.1;

/** Calls `changed(list)` after a change; `list` is whether leases were added or removed. */
export class Holdings {
  constructor(feed, changed) {
    this.byId = new Map();
    this.known = false;
    this.since = []; // events during a fetch, which may be newer than the list
    this.listChanged = false;
    this.notify = throttled(() => {
      const list = this.listChanged;
      this.listChanged = false;
      changed(list);
    }, CALM_MS);
    this.poll = poll(() => this.ask(), EVERY_MS);
    this.unsubscribe = feed.on(({ event }) => this.receive(event));
  }

  close() {
    this.poll.stop();
    this.unsubscribe();
    this.notify.stop();
  }

  get list() {
    return [...this.byId.values()];
  }

  /** The charges per hour of all leases together. */
  get charged() {
    return this.list.reduce((sum, lease) => sum + lease.charged, 0);
  }

  async ask() {
    this.since = [];
    const found = await all("/v1/leases");
    const now = serverNow();
    // update the objects in place: a dialog may refer to one
    const update = (lease) => Object.assign(this.byId.get(lease.id) ?? {}, read(lease, now));
    this.byId = new Map(found.map((lease) => [lease.id, update(lease)]));
    this.known = true;
    this.since.forEach((event) => this.apply(event));
    this.listChanged = true;
    this.notify();
  }

  receive(event) {
    if (event.type === "gap") this.poll.now();
    if (!CHANGES[event.type]) return;
    this.since.push(event);
    this.apply(event);
    this.notify();
  }

  apply(event) {
    if (CHANGES[event.type](this, event, this.byId.get(event.lease))) this.listChanged = true;
  }
}

/** How each event changes the leases. Returns whether one was added or removed. */
const CHANGES = {
  "lease.started": (holdings, event, lease) => {
    if (lease) return false;
    const { lease: id, at, rate } = event;
    const started = { ...event, id, started_at: at, charged: rate, cost: "0" };
    holdings.byId.set(id, read(started, Date.parse(at)));
    return true;
  },
  "lease.ended": (holdings, event) => holdings.byId.delete(event.lease),
  "lease.limit_set": (_, event, lease) => {
    if (lease) lease.limit = micros(event.limit);
    return false;
  },
  "rate.changed": (_, event, lease) => {
    if (lease) chargedFrom(lease, micros(event.rate), Math.max(lease.asOf, Date.parse(event.at)));
    return false;
  },
  "limit.near": (_, event, lease) => {
    if (lease) lease.rate = micros(event.rate);
    return false;
  },
};

function read(lease, now) {
  return {
    id: lease.id,
    leaf: lease.leaf,
    order: lease.order,
    rate: micros(lease.rate),
    charged: micros(lease.charged),
    limit: micros(lease.limit),
    cost: micros(lease.cost),
    started: ms(lease.started_at),
    hold: ms(lease.hold_until),
    asOf: now,
  };
}

/** Apply a new charge from a time on. Rate and charge are equal, except during a hold. */
function chargedFrom(lease, charged, at) {
  lease.cost = costAt(lease, at);
  lease.asOf = at;
  lease.charged = charged;
  if (!isHeld(lease, at)) lease.rate = charged;
}

export function costAt(lease, now) {
  return Math.floor(lease.cost + costOf(lease.charged, now - lease.asOf));
}

export function isHeld(lease, now) {
  return lease.hold !== null && lease.hold > now;
}

/** How far the rate is below the limit, as a share of the limit; null without a limit. */
export function headroom({ rate, limit }) {
  if (limit === null) return null;
  return limit === 0 ? 0 : (limit - rate) / limit;
}

export function isNear(lease) {
  const left = headroom(lease);
  return left !== null && left < NEAR;
}

/** The cost of a rate over a time, in micro-dollars. */
export function costOf(ratePerHour, ms) {
  return (ratePerHour * Math.max(0, ms)) / HOUR_MS;
}

/** A total that keeps rising between two answers of the server, at the current charges. */
export class RunningTotal {
  constructor() {
    this.total = null;
    this.asOf = 0;
  }

  set(total, at) {
    this.total = total;
    this.asOf = at;
  }

  /**
   * The total now, in whole micro-dollars; null if not yet known. `rate` counts since the last
   * call, so call this often.
   */
  read(rate, now) {
    if (this.total === null) return null;
    this.total += costOf(rate, now - this.asOf);
    this.asOf = Math.max(this.asOf, now);
    return Math.floor(this.total);
  }
}
