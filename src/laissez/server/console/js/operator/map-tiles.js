// The market in a few figures, with what they were during the last two hours.

import { get } from "../api.js";
import { spark } from "../chart.js";
import { h, say } from "../dom.js";
import { cost, count, micros, percent, perHour, plural } from "../format.js";
import { poll } from "../poll.js";

const NOW_MS = 2000;
const HISTORY_MS = 10_000;
const SPARKS_MAX = 180;

// `value` and `note` are of the market now and its samples, `sample` makes the line.
const TILES = [
  {
    name: "Utilisation",
    value: (market) => percent(market.online ? market.leased / market.online : 0, 1),
    note: (market) => `${count(market.leased)} of ${count(market.online)} online`,
    sample: ({ online, leased }) => (online ? leased / online : 0),
  },
  {
    name: "Revenue now",
    value: (market) => revenue(market.rate_now),
    title: (market) => `$${market.rate_now}/h`,
    note: (market) => `${cost(market.revenue)} in all`,
    sample: ({ rate_now: rate }) => micros(rate),
  },
  {
    name: "Transfers",
    value: (_, samples) => (samples.length ? `${count(lastMinute(samples).moved)} / min` : "–"),
    note: (_, samples) =>
      samples.length
        ? `${count(lastMinute(samples).started)} started, ${count(lastMinute(samples).ended)} ended`
        : "",
    sample: ({ transfers }) => transfers,
  },
  {
    name: "Open orders",
    value: (market) => count(market.open_orders),
    note: (market) => `${plural(market.tenants, "tenant")} in all`,
    sample: ({ open_orders: orders }) => orders,
  },
  {
    name: "Idle",
    value: (market) => count(market.online - market.leased),
    note: (market) => `${count(market.leaves - market.online)} offline of ${count(market.leaves)}`,
    sample: ({ online, leased }) => online - leased,
  },
];

/** Whole cents, of large sums whole dollars: more would only flicker. */
function revenue(text) {
  const value = micros(text);
  return value < 1e10
    ? perHour(Math.round(value / 10_000) * 10_000)
    : `$${count(Math.round(value / 1e6))}/h`;
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
    const [value, note, line] = [
      h("div", { class: "value" }, "–"),
      h("div", { class: "note" }),
      h("div", { class: "spark-place" }),
    ];
    return {
      element: h("div", { class: "tile" }, h("div", { class: "label" }, name), value, note, line),
      value,
      note,
      line,
    };
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
    TILES.forEach(({ sample }, i) =>
      made[i].line.replaceChildren(spark(thinned(history).map(sample))),
    );
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
    element: h(
      "section",
      { class: "tiles market-tiles", "aria-label": "The market now" },
      made.map(({ element }) => element),
    ),
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
