// What each map read and pressed with, as far as it was told: the server tells only what is new.

const KEPT_MS = 3_600_000;

export class MapHistories {
  constructor() {
    this.kept = new Map(); // by runner and map: [[ms, value or null, pressure], ...], oldest first
    this.newest = null; // the time of the last point of all, as the API writes it
  }

  take(runners) {
    for (const { runner, maps } of runners)
      for (const map of maps) this.add(keyOf(runner, map.name), map.history);
  }

  add(key, history) {
    const points = this.kept.get(key) ?? [];
    const last = points.length ? points.at(-1)[0] : -Infinity;
    for (const [at, value, pressure] of history) {
      const ms = Date.parse(at);
      if (ms > last) points.push([ms, value, pressure]);
      if (this.newest === null || at > this.newest) this.newest = at;
    }
    const oldest = (points.at(-1)?.[0] ?? 0) - KEPT_MS;
    this.kept.set(
      key,
      points.filter(([ms]) => ms >= oldest),
    );
  }

  of(runner, map) {
    return this.kept.get(keyOf(runner, map)) ?? [];
  }
}

function keyOf(runner, map) {
  return JSON.stringify([runner, map]);
}
