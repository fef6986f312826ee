// The page of one lease: facts, a chart and a table of its charges, and quotes around it.

import { at, get, serverNow } from "../api.js";
import { Chart, legend } from "../chart.js";
import { button, card, pathName, rows as rowsShown } from "../components.js";
import { fill, h, setText } from "../dom.js";
import { findLeaseEnd, knownEvents } from "../event-log.js";
import { explainEnd } from "../event-text.js";
import {
  clock,
  duration,
  exact,
  lasted,
  micros,
  ms,
  onAxis,
  perHour,
  percent,
  plural,
  rate,
  reason,
  running,
  when,
} from "../format.js";
import { Table } from "../table.js";
import { everySecond, poll, throttled } from "../timers.js";
import { closedBlock, piecesOf, pointsOf, thinned } from "./charges.js";
import { costAt, headroom, isHeld } from "./holdings.js";
import { askLimit, limitText, relinquish } from "./lease-dialogs.js";

const EVERY_MS = 10_000;
const SOONEST_MS = 2000;
const OVER_MS = 5000; // a lease last charged this long ago has ended
const ROWS = 200;
const MARKS = 24; // more marks would hide the line
const ABOVE = 2.5; // a limit this many times above the charges is not drawn: they would look flat

/**
 * Show a lease in `element`. `lease()` returns the lease if it is held now; `billed()` its cost in
 * the bill, in micro-dollars, because the rounded pieces sum up to less. Returns {close()}.
 */
export function leaseDetail(element, id, context, lease, billed) {
  const { feed, mayTrade } = context;
  const title = h("h1", {}, id);
  const actions = h("div", { class: "row" });
  const facts = h("dl", { class: "facts" });
  const about = h("p", { class: "notice", hidden: true });
  const chart = chargeChart("Charges of the lease over time");
  const total = h("span", { class: "soft" });
  const table = pieceTable();
  const around = h("div", { class: "around" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const charges = card(
    {
      id: "charges",
      title: "Charged over time: the area is the cost",
      kind: "charges",
      aside: total,
    },
    chart.element,
  );
  const quotes = card({ id: "around", title: "Quotes around this GPU" }, around);
  let pieces = [];
  let leaf = null;
  let live = null;
  let end; // the ending event if the feed does not have it; null if it is no longer kept

  const asking = poll(async () => {
    try {
      const history = await get(`${at("/v1/leases", id)}/prices`);
      pieces = piecesOf(history);
      leaf = history.leaf;
    } catch (error) {
      if (error.status !== 404) throw error;
      fill(problem, "This lease is no longer kept, or it was never yours.");
      problem.hidden = false;
      charges.hidden = quotes.hidden = table.element.hidden = true;
      asking.stop();
      return;
    }
    draw();
    table.show(pieces, Boolean(lease()));
    tick();
    if (lease()) await askAround();
    else await lookForEnd();
  }, EVERY_MS);
  const soon = throttled(asking.now, SOONEST_MS);
  const unsubscribe = feed.on(({ event }) => event.lease === id && soon());
  const stopTicking = everySecond(tick);

  async function askAround() {
    const { data } = await get("/v1/prices", { limit: 1000 });
    const own = data.filter(({ scope }) => leaf.startsWith(`${scope}/`));
    const text = (price) => (price === null ? "none available" : rate(micros(price)));
    fill(
      around,
      own.map(({ scope, price }) =>
        h("div", {}, pathName(scope), h("b", { class: "num" }, text(price))),
      ),
    );
  }

  async function lookForEnd() {
    const last = pieces.at(-1)?.end ?? Infinity;
    if (end !== undefined || endOf(feed, id) || serverNow() - last < OVER_MS) return;
    end = await findLeaseEnd(feed, id, last);
    tick();
  }

  function draw() {
    const ends = pieces.at(-1)?.end ?? serverNow();
    chart.draw({
      pieces,
      limits: limitsOf(feed, id, lease(), pieces[0]?.start ?? ends),
      until: lease() ? Math.max(ends, serverNow()) : ends,
    });
  }

  function tick() {
    const now = lease();
    if (Boolean(now) !== Boolean(live)) buttons(now);
    live = now;
    if (!leaf) return;
    fill(title, pathName(leaf));
    const ended = now ? null : (endOf(feed, id) ?? end);
    const paid = billed() ?? sum(pieces);
    updateFacts(facts, now ? factsNow(now) : factsThen(pieces, ended, paid));
    quotes.hidden = !now;
    about.hidden = !ended;
    if (ended)
      setText(about, `Ended ${when(ended.at)}, ${reason(ended.reason)}: ${explainEnd(ended)}.`);
    setText(
      total,
      `${exact(now ? costAt(now, serverNow()) : paid)} ${now ? "so far" : "in total"}`,
    );
  }

  function buttons(now) {
    if (!now || !mayTrade) return fill(actions);
    return fill(
      actions,
      button("Set limit", () => askLimit([lease()])),
      button("Relinquish", () => relinquish([lease()]), "danger"),
    );
  }

  const back = h("a", { href: "#/leases" }, "← All leases");
  const head = h("div", { class: "page-head" }, title, actions);
  fill(
    element,
    back,
    head,
    problem,
    about,
    h("section", { class: "card", "aria-label": "The lease" }, facts),
    charges,
    quotes,
    table.element,
  );
  tick();
  return {
    close() {
      asking.stop();
      soon.stop();
      unsubscribe();
      stopTicking();
    },
  };
}

function sum(pieces) {
  return pieces.reduce((total, piece) => total + piece.cost, 0);
}

function factsNow(lease) {
  const now = serverNow();
  const left = headroom(lease);
  return [
    [
      "Rate now",
      rate(lease.rate),
      lease.charged === lease.rate ? "" : `charged ${rate(lease.charged)} during the hold`,
    ],
    [
      "Limit",
      limitText(lease.limit),
      left === null ? "keeps the GPU at any price" : `${percent(Math.max(0, left))} headroom`,
    ],
    ["Cost so far", running(costAt(lease, now)), ""],
    ["Held for", duration(now - lease.started), `since ${when(lease.started)}`],
    [
      "Hold",
      isHeld(lease, now) ? `until ${clock(lease.hold)}` : "none",
      isHeld(lease, now) ? "cannot be outbid" : "",
    ],
    ["Lease", "", lease.id],
  ];
}

function factsThen(pieces, ended, paid) {
  const [first, last] = [pieces[0], pieces.at(-1)];
  if (!first) return [];
  return [
    ["Total cost", exact(paid), ""],
    ["Held for", duration(last.end - first.start), ""],
    ["From", when(first.start), ""],
    ["Until", when(last.end), ""],
    ...(ended
      ? [
          ["Rate at the end", rate(micros(ended.rate)), ""],
          ["Limit at the end", limitText(micros(ended.limit)), ""],
        ]
      : []),
  ];
}

/** Update the facts in place; set only texts that differ. */
function updateFacts(list, facts) {
  if (list.children.length !== facts.length)
    fill(
      list,
      facts.map(() => h("div", {}, h("dt"), h("dd", {}, h("span"), h("small")))),
    );
  facts.forEach(([name, value, note], i) => {
    const [term, text] = list.children[i].children;
    setText(term, name);
    setText(text.children[0], value);
    setText(text.children[1], note);
  });
}

function endOf(feed, id) {
  return (
    knownEvents(feed).find(({ event }) => event.type === "lease.ended" && event.lease === id)
      ?.event ?? null
  );
}

/** The limit over time, as far back as events are known: [[ms, limit or null]]. */
function limitsOf(feed, id, lease, start) {
  const known = knownEvents(feed);
  const setting = known.filter(
    ({ event }) => event.lease === id && event.limit !== undefined && event.type !== "lease.ended",
  );
  const own = setting.map(({ event }) => [ms(event.at), micros(event.limit)]);
  const ended = endOf(feed, id);
  const now = lease ? lease.limit : ended ? micros(ended.limit) : undefined;
  if (now === undefined) return own;
  if (!own.length) return [[Math.max(start, ms(known[0]?.event.at) ?? start), now]];
  return own;
}

/**
 * The chart of a lease's charges. Returns {element, draw({pieces, limits, until})}; `limits` is
 * [[ms, micro-dollars or null], ...], as far as known.
 */
function chargeChart(label) {
  const chart = new Chart({ label, height: 230, value: onAxis });
  const key = h("div");
  return {
    element: h("div", { class: "stack tight" }, key, chart.element),
    draw({ pieces, limits, until }) {
      const from = pieces[0]?.start ?? until - 1;
      const summed = pieces.filter(({ rate }) => rate === null);
      const drawn = pieces.filter(({ rate }) => rate !== null);
      const points = pointsOf(drawn);
      if (drawn.at(-1)?.end >= until - 1500) points.pop(); // the last piece is still running
      const series = [
        {
          name: "charged per hour",
          class: "s1",
          points: thinned(points, until),
          step: true,
          area: true,
        },
      ];
      const some = limits
        .filter(([time]) => time <= until)
        .map(([time, value]) => [Math.max(time, from), value]);
      series.push(...limitSeries(some, drawn));
      const blocks = summed.map(({ start, end, cost }) =>
        closedBlock("Summed up", start, end, cost),
      );
      const changes = some.filter(([at]) => at > from).slice(-MARKS);
      const marks = changes.map(([at, value]) => ({
        at,
        text: `limit ${value === null ? "none" : perHour(value)}`,
      }));
      chart.draw({ series, blocks, marks, from, until });
      fill(
        key,
        legend([
          ...series,
          ...(blocks.length
            ? [{ name: "summed up: only the cost is known", class: "hatched" }]
            : []),
        ]),
      );
    },
  };
}

/** Draw the limit unless it is far above the charges; then say so in the legend. */
function limitSeries(limits, pieces) {
  const cap = ABOVE * pieces.reduce((most, { rate }) => Math.max(most, rate), 0);
  const last = limits.at(-1)?.[1];
  if (last === undefined) return [];
  const points = limits.map(([time, value]) => [
    time,
    value !== null && value <= cap ? value : null,
  ]);
  const beyond =
    last === null ? "no limit" : last > cap ? `limit ${perHour(last)}, above the chart` : "limit";
  return [{ name: beyond, class: "limit", points, step: true }];
}

/** The table of pieces, newest first. Returns {element, show(pieces, isRunning)}. */
function pieceTable() {
  const note = h("span", { class: "soft small" });
  const table = new Table({
    caption: "Charges, piece by piece",
    key: ({ start }) => start,
    empty: "Nothing has been charged yet.",
    columns: [
      { name: "Start", update: (cell, { start }) => updateTime(cell, start) },
      {
        name: "End",
        update: (cell, { end, last }) => (last ? setText(cell, "running") : updateTime(cell, end)),
      },
      { name: "Duration", num: true, value: ({ start, end }) => lasted(end - start) },
      {
        name: "Rate",
        num: true,
        value: ({ rate }) => (rate === null ? "summed up" : `${exact(rate)}/h`),
      },
      { name: "Cost", num: true, value: ({ cost }) => exact(cost) },
    ],
  });
  const element = card({ id: "pieces", title: "Piece by piece", aside: note }, table.element);
  table.element.classList.replace("cards", "scrolls");
  return {
    element,
    show(pieces, lasts) {
      const rows = pieces.map((piece, i) => ({ ...piece, last: lasts && i === pieces.length - 1 }));
      const most = rowsShown(ROWS);
      table.show(rows.reverse().slice(0, most));
      setText(
        note,
        pieces.length > most
          ? `the newest ${most} of ${plural(pieces.length, "piece")}`
          : plural(pieces.length, "piece"),
      );
    },
  };
}

function updateTime(cell, time) {
  setText(cell, when(time));
  cell.title = new Date(time).toISOString();
}
