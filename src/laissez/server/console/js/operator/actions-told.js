// What a command did, in one sentence, from the events of its answer.

import { count, plural } from "../format.js";
import { words } from "../eventwords.js";

/** `first` is said in any case; then how many leases ended and began because of it. */
export function whatHappened(first, events) {
  const number = (type) => events.filter(({ event }) => event.type === type).length;
  const [ended, started] = [number("lease.ended"), number("lease.started")];
  const effects = [
    ended && `${plural(ended, "lease")} ended`,
    started && `${count(started)} started`,
  ]
    .filter(Boolean)
    .join(", ");
  return effects ? `${first}. ${effects[0].toUpperCase()}${effects.slice(1)}.` : `${first}.`;
}

/** The same for one event that says it all, such as `floor.set`. */
export function byEvent(type, otherwise, events) {
  const told = events.find(({ event }) => event.type === type);
  return whatHappened(told ? words(told.event) : otherwise, events);
}
