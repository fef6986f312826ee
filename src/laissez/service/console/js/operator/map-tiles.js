// The market in a few figures, with what they were during the last two hours.

import { get } from "../api.js";
import { spark } from "../chart.js";
import { h, say } from "../dom.js";
import { cost, count, micros, percent, perHour } from "../format.js";
import { poll } from "../poll.js";

const NOW_MS = 2000;
const HISTORY_MS = 10_000;
const SPARKS_MAX = 180;

const TILES = [
  { name: "Utilisation", value: (m) => percent(m.online ? m.leased / m.online : 0, 1), note: (m) => `${count(m.leased)} of ${count(m.online)} online`, sample: (s) => (s.online ? s.leased / s.online : 0) },
  { name: "Revenue now", value: (m) => perHour(rounded(m.rate_now)), title: (m) => `$${m.rate_now}/h`, note: (m) => `${cost(m.revenue)} in all`, sample: (s) => micros(s.rate_now) },
  { name: "Transfers", value: (m, h) => (h.length ? `${count(lastMinute(h).moved)} / min` : "–"), note: (m, h) => (h.length ? `${count(lastMinute(h).started)} started, ${count(lastMinute(h).ended)} ended` : ""), sample: (s) => s.transfers },
  { name: "Open orders", value: (m) => count(m.open_orders), note: (m) => `of ${count(m.tenants)} tenants`, sample: (s) => s.open_orders },
  { name: "Idle", value: (m) => count(m.online - m.leased), note: (m) => `${count(m.leaves - m.online)} offline of ${count(m.leaves)} leaves`, sample: (s) => s.online - s.leased },
];

/** Whole cents: more would only flicker. */
function rounded(text) {
  return Math.round(micros(text) / 10_000) * 10_000;
}

function lastMinute(history) {
  const sum = { moved: 0, started: 0, ended: 0 };
  const until = Date.parse(history.at(-1).at);
  for (const { at, transfers, started, ended } of history) {
    if (until - Date.parse(at) >= 60_000) continue;
    sum.moved += transfers;
    sum.started += started;
    sum.ended += ended;
  }
  return sum;
}

/** Gives {element, close()}. */
export function tiles() {
  const made = TILES.map(({ name }) => {
    const [value, note, line] = [h("div", { class: "value" }, "–"), h("div", { class: "note" }), h("div", { class: "spark-place" })];
    return { element: h("div", { class: "tile" }, h("div", { class: "label" }, name), value, note, line), value, note, line };
  });
  let market = null;
  let history = [];

  function show() {
    if (!market) return;
    TILES.forEach((tile, i) => {
      say(made[i].value, tile.value(market, history));
      say(made[i].note, tile.note(market, history));
      if (tile.title) made[i].value.title = tile.title(market);
    });
  }

  function draw() {
    TILES.forEach(({ sample }, i) => made[i].line.replaceChildren(spark(thinned(history).map(sample))));
  }

  const now = poll(async () => {
    market = await get("/v1/market");
    show();
  }, NOW_MS);
  const past = poll(async () => {
    history = (await get("/v1/market/history")).samples;
    draw();
    show();
  }, HISTORY_MS);

  return {
    element: h("section", { class: "tiles", "aria-label": "The market now" }, made.map(({ element }) => element)),
    close() {
      now.stop();
      past.stop();
    },
  };
}

function thinned(samples) {
  const every = Math.ceil(samples.length / SPARKS_MAX) || 1;
  return samples.filter((_, i) => (samples.length - 1 - i) % every === 0);
}
