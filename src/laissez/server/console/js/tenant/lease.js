// The page of one lease

import { at, get, serverNow } from "../api.js";
import { Chart, legend } from "../chart.js";
import { card, pathName, rows as rowsShown } from "../components.js";
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
const OVER_MS = 5000; // what was charged last so long ago has ended
const ROWS = 200;
const MARKS = 24; // more would hide what they mark
const ABOVE = 2.5; // a limit further above the charge than that would make it flat

/**
 * Show a lease in `element`. `lease()` gives what is held now, if it is; `billed()` what the bill has for it, in
 * micro-dollars: the pieces are rounded down one by one. Gives {close()}.
 */
export function leaseDetail(element, id, context, lease, billed) {
  const { feed, mayTrade } = context;
  const title = h("h1", {}, id);
  const actions = h("div", { class: "row" });
  const facts = h("dl", { class: "facts" });
  const about = h("p", { class: "notice", hidden: true });
  const chart = chargeChart("What the lease was charged over time");
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
  const quotes = card({ id: "around", title: "What a leaf around it takes now" }, around);
  let pieces = [];
  let leaf = null;
  let live = null;
  let end; // the event, if it is further back than what the feed has; null: it is gone

  const asking = poll(async () => {
    try {
      const history = await get(`${at("/v1/leases", id)}/prices`);
      pieces = piecesOf(history);
      leaf = history.leaf;
    } catch (error) {
      if (error.status !== 404) throw error;
      fill(problem, "The books no longer know this lease, or it was never yours.");
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
  const stopHearing = feed.on(({ event }) => event.lease === id && soon());
  const stopTicking = everySecond(tick);

  async function askAround() {
    const { data } = await get("/v1/prices", { limit: 1000 });
    const own = data.filter(({ scope }) => leaf.startsWith(`${scope}/`));
    const told = (price) => (price === null ? "nothing to be had" : rate(micros(price)));
    fill(
      around,
      own.map(({ scope, price }) =>
        h("div", {}, pathName(scope), h("b", { class: "num" }, told(price))),
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
    sayFacts(facts, now ? factsNow(now) : factsThen(pieces, ended, paid));
    quotes.hidden = !now;
    about.hidden = !ended;
    if (ended)
      setText(about, `Ended ${when(ended.at)}, ${reason(ended.reason)}: ${explainEnd(ended)}.`);
    setText(total, `${exact(now ? costAt(now, serverNow()) : paid)} ${now ? "so far" : "in all"}`);
  }

  function buttons(now) {
    if (!now || !mayTrade) return fill(actions);
    return fill(
      actions,
      h(
        "button",
        { type: "button", class: "button", onclick: () => askLimit([lease()]) },
        "Set limit",
      ),
      h(
        "button",
        { type: "button", class: "button danger", onclick: () => relinquish([lease()]) },
        "Relinquish",
      ),
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
      stopHearing();
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
      lease.charged === lease.rate ? "" : `charged ${rate(lease.charged)} while held`,
    ],
    [
      "Limit",
      limitText(lease.limit),
      left === null ? "kept whatever the price" : `${percent(Math.max(0, left))} headroom`,
    ],
    ["Cost so far", running(costAt(lease, now)), ""],
    ["Held for", duration(now - lease.started), `since ${when(lease.started)}`],
    [
      "Hold",
      isHeld(lease, now) ? `until ${clock(lease.hold)}` : "none",
      isHeld(lease, now) ? "cannot be lost for price" : "",
    ],
    ["Lease", "", lease.id],
  ];
}

function factsThen(pieces, ended, paid) {
  const [first, last] = [pieces[0], pieces.at(-1)];
  if (!first) return [];
  return [
    ["Cost in all", exact(paid), ""],
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

/** Facts in place: only texts that differ are set. */
function sayFacts(list, facts) {
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

/** Its limit over time, as far back as events are known: [[ms, limit or null]]. */
function limitsOf(feed, id, lease, start) {
  const told = knownEvents(feed);
  const setting = told.filter(
    ({ event }) => event.lease === id && event.limit !== undefined && event.type !== "lease.ended",
  );
  const own = setting.map(({ event }) => [ms(event.at), micros(event.limit)]);
  const ended = endOf(feed, id);
  const now = lease ? lease.limit : ended ? micros(ended.limit) : undefined;
  if (now === undefined) return own;
  if (!own.length) return [[Math.max(start, ms(told[0]?.event.at) ?? start), now]];
  return own;
}

/** Gives {element, draw({pieces, limits, until})}; `limits` is [[ms, micro-dollars or null], ...], as far as they are known. */
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
      if (drawn.at(-1)?.end >= until - 1500) points.pop(); // it goes on
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

/** The limit where it fits above the charges; what is far above is told in words. */
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

/** The pieces, newest first. Gives {element, show(pieces)}. */
function pieceTable() {
  const note = h("span", { class: "soft small" });
  const table = new Table({
    caption: "What it was charged, piece by piece",
    key: ({ start }) => start,
    empty: "Nothing has been charged yet.",
    columns: [
      { name: "Start", update: (cell, { start }) => sayTime(cell, start) },
      {
        name: "End",
        update: (cell, { end, last }) => (last ? setText(cell, "goes on") : sayTime(cell, end)),
      },
      { name: "Lasted", num: true, value: ({ start, end }) => lasted(end - start) },
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

function sayTime(cell, time) {
  setText(cell, when(time));
  cell.title = new Date(time).toISOString();
}
