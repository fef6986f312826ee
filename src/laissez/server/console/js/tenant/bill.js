// The bill page: totals, a chart of the charges, and the lines.

import { Problem, address, at, get, serverNow } from "../api.js";
import { Chart, legend } from "../chart.js";
import { LINE_MS, card, pathName, rows, smallButton, tile } from "../components.js";
import { fill, h, setText } from "../dom.js";
import {
  count,
  decimal,
  dollars,
  exact,
  lasted,
  micros,
  ms,
  onAxis,
  plural,
  rate,
  running,
  when,
} from "../format.js";
import { Table } from "../table.js";
import { everySecond, poll, throttled } from "../timers.js";
import { bounds, periodChooser, readPeriod } from "./bill-period.js";
import { budgetTile } from "./budget.js";
import { closedBlock, piecesOf, piecesOfLine, sumOf, thinned } from "./charges.js";
import { Holdings, RunningTotal } from "./holdings.js";

const EVERY_MS = 20_000;
const SOONEST_MS = 5000;
const ROWS = 300;
const LEASES = 80; // leases drawn exactly; the others are drawn by their mean, which keeps the area
const AT_ONCE = 4;
const PIECES = 20_000; // over all leases; a hundred pieces cost as much as one more request
const FRESH_MS = 60_000;

export const bill = { path: "bill", name: "Bill", mount };

function mount(main, context) {
  const tiles = { total: tile("Total"), now: tile("Charge per hour now"), lines: tile("Lines") };
  const budget = budgetTile(context);
  const chooser = periodChooser();
  const chart = billChart();
  const lines = lineTable();
  const overTime = card(
    { id: "over-time", title: "Charged over time: the area is the cost" },
    chart.element,
  );
  const downloads = {
    csv: h("a", { class: "button small" }, "Download CSV"),
    focus: h("a", { class: "button small" }, "Download FOCUS"),
  };
  const owed = new RunningTotal();
  let period = readPeriod([]);
  let found = null;
  let refused = null; // the same request would be refused again
  let again = 0;

  const asking = poll(async () => {
    const asked = period;
    if (refused === period || Date.now() < again) return;
    try {
      const answer = await get("/v1/bills", bounds(asked));
      if (asked !== period) return;
      again = Date.now() + answer.lines.length * LINE_MS;
      owed.set(micros(answer.total), ms(answer.until));
      found = { ...answer, runs: !bounds(asked).until };
      chooser.show(period);
      updateDownloads();
      lines.show(found);
      overTime.hidden = !found.lines.length;
      tick();
      await chart.show(found);
    } catch (problem) {
      if (problem instanceof Problem && [400, 422].includes(problem.status) && asked === period) {
        refused = period;
        chooser.show(period, problem);
      } else throw problem;
    }
  }, EVERY_MS);
  const holdings = new Holdings(context.feed, () => tick());
  const soon = throttled(asking.now, SOONEST_MS);
  const stops = [
    context.feed.onChange(["lease.", "fee."], soon),
    everySecond(() => (tick(), budget.tick())),
  ];

  /** Update the totals, which keep rising unless the period has ended. */
  function tick() {
    if (!found) return;
    const charged = holdings.known ? holdings.charged : micros(found.rate_now);
    const total = owed.read(found.runs ? charged : 0, serverNow());
    const until = found.runs ? "" : `, until ${when(found.until)}`;
    tiles.total.update({
      value: running(total),
      note: `since ${when(found.since)}${until}`,
      title: `${exact(micros(found.total))} until ${found.until}`,
    });
    tiles.now.update({
      value: rate(charged),
      note: `${dollars(charged * 24, 2)} a day at this rate`,
    });
    tiles.lines.update({ value: count(found.lines.length), note: kinds(found) });
  }

  function show(rest) {
    period = readPeriod(rest);
    chooser.show(period);
    chart.close();
    again = 0;
    asking.now();
  }

  /** Make the downloads match the shown period. */
  function updateDownloads() {
    for (const [format, link] of Object.entries(downloads)) {
      link.href = address("/v1/bills", { ...bounds(period), format });
      const suffix = format === "focus" ? "-focus" : "";
      link.download = `bill-${context.me.holder}-${period.name}${suffix}.csv`;
    }
  }

  fill(
    main,
    h(
      "div",
      { class: "page-head" },
      h("h1", {}, "Bill"),
      h("div", { class: "row" }, Object.values(downloads)),
    ),
    chooser.element,
    h(
      "div",
      { class: "tiles" },
      Object.values(tiles).map(({ element }) => element),
      budget.element,
    ),
    overTime,
    lines.element,
  );
  return {
    show,
    close() {
      asking.stop();
      holdings.close();
      soon.stop();
      chart.close();
      budget.close();
      stops.forEach((stop) => stop());
    },
  };
}

function kinds({ lines }) {
  const counts = { lease: 0, fee: 0, carried: 0 };
  for (const { kind } of lines) counts[kind] += 1;
  const said = [
    counts.lease && plural(counts.lease, "lease"),
    counts.fee && plural(counts.fee, "fee"),
    counts.carried && "carried",
  ];
  return said.filter(Boolean).join(", ");
}

/** The table of the bill's lines. Returns {element, show(bill)}. */
function lineTable() {
  let most = rows(ROWS);
  let shown = null;
  const table = new Table({
    caption: "Lines of the bill",
    key: ({ kind, id, scope, start }) => `${kind} ${id} ${scope} ${start}`,
    empty: "Nothing was charged in this period.",
    columns: [
      { name: "Node", sort: ({ scope }) => scope, make: lineName },
      { name: "Kind", sort: ({ kind }) => kind, value: ({ kind }) => kind },
      {
        name: "Start",
        sort: ({ start }) => start,
        update: (cell, { start }) => updateTime(cell, start),
      },
      { name: "End", sort: ({ end }) => end, update: (cell, { end }) => updateTime(cell, end) },
      {
        name: "Duration",
        num: true,
        sort: ({ start, end }) => ms(end) - ms(start),
        value: ({ start, end }) => lasted(ms(end) - ms(start)),
      },
      {
        name: "Cost",
        num: true,
        sort: ({ cost }) => micros(cost),
        value: ({ cost }) => exact(micros(cost)),
      },
    ],
    sort: "Start",
    descending: true,
  });
  const about = h("span", { class: "soft small" });
  const more = smallButton("Show all", () => ((most = Infinity), show(shown)));
  const sums = h("p", { class: "soft small sums" });

  function show(found) {
    shown = found;
    const newest = [...found.lines].sort((a, b) => (a.start < b.start ? 1 : -1)).slice(0, most);
    table.show(newest);
    more.hidden = found.lines.length <= most;
    setText(about, more.hidden ? "" : `the newest ${most} of ${count(found.lines.length)}`);
    setText(sums, checked(found));
  }

  return {
    element: card(
      { id: "lines", title: "Lines", kind: "thirds", aside: [about, more] },
      sums,
      table.element,
    ),
    show,
  };
}

/**
 * Explain the difference between the sum of the lines and the total. Each line is rounded down, the
 * total only once: they differ by less than a millionth of a dollar per line.
 */
function checked({ lines, total }) {
  if (!lines.length) return "";
  const sum = lines.reduce((so, { cost }) => so + micros(cost), 0);
  const rest = micros(total) - sum;
  const says = `The lines add up to ${exact(sum)}, the total is ${exact(micros(total))}`;
  if (rest === 0) return `${says}.`;
  return (
    `${says}: $${decimal(rest)} more, because every line is rounded down to a millionth of ` +
    "a dollar, the total only once."
  );
}

function lineName({ kind, id, scope }) {
  if (kind === "lease") return pathName(scope, id);
  if (kind === "carried")
    return h(
      "span",
      {},
      h("b", {}, "Carried"),
      h("span", { class: "soft" }, ", from leases that ended in closed books"),
    );
  return h("span", {}, pathName(scope), h("span", { class: "soft small" }, ` for ${id}`));
}

function updateTime(cell, time) {
  setText(cell, when(time));
  cell.title = time;
}

/**
 * A chart of all charges of a bill; the area below it is the total. Returns {element, show(bill),
 * close()}.
 */
function billChart() {
  const chart = new Chart({
    label: "Total charges of all leases over time",
    height: 240,
    value: onAxis,
  });
  const note = h("p", { class: "soft small" });
  const key = h("div");
  const known = new Map(); // lease -> {pieces, at}
  let bill = null;
  let aborter = null;

  async function show(shown) {
    bill = shown;
    draw();
    aborter?.abort();
    aborter = new AbortController();
    await fetchPieces(wanted(bill), known, aborter.signal, draw);
  }

  function draw() {
    const carried = bill.lines.filter(({ kind }) => kind === "carried");
    const lines = bill.lines.filter(({ kind }) => kind !== "carried");
    const [from, until] = [spanStart(bill), ms(bill.until)];
    const pieces = lines.flatMap((line) => piecesOfLine(line, known.get(line.id)?.pieces));
    const points = thinned(sumOf(pieces), until).filter(([time]) => time < until);
    const blocks = carried.map(({ start, end, cost }) =>
      closedBlock("Carried", ms(start), ms(end), micros(cost)),
    );
    const series = points.length
      ? [{ name: "charged per hour", class: "s1", points, step: true, area: true }]
      : [];
    chart.draw({ series, blocks, from, until });
    fill(
      key,
      legend([
        ...series,
        ...(blocks.length
          ? [{ name: "in closed books: only the cost is known", class: "hatched" }]
          : []),
      ]),
    );
    setText(note, about(bill, known));
  }

  return {
    element: h("div", { class: "stack tight" }, key, chart.element, note),
    show,
    close: () => aborter?.abort(),
  };
}

/** The axis begins at the first charge. */
function spanStart(bill) {
  const starts = bill.lines.map(({ start }) => ms(start));
  return starts.length
    ? Math.max(
        ms(bill.since),
        starts.reduce((least, start) => Math.min(least, start), Infinity),
      )
    : ms(bill.since);
}

function leaseLines(bill) {
  return bill.lines.filter(({ kind }) => kind === "lease");
}

function wanted(bill) {
  return leaseLines(bill)
    .sort((a, b) => micros(b.cost) - micros(a.cost))
    .slice(0, LEASES);
}

function about(bill, known) {
  const lines = leaseLines(bill);
  const drawn = lines.filter(({ id }) => known.get(id)?.pieces.length).length;
  if (lines.length <= LEASES && piecesKept(known) < PIECES) return "";
  const some =
    `The most expensive ${plural(drawn, "lease")} of ${lines.length} ` +
    `${drawn === 1 ? "is" : "are"} drawn exactly`;
  return `${some}, the others by their mean. The area is still the cost.`;
}

/** Fetch missing and outdated pieces, a few leases at a time. */
async function fetchPieces(lines, known, signal, drawn) {
  const queue = lines.filter((line) => !isFresh(known.get(line.id), line));
  async function worker() {
    while (queue.length && !signal.aborted && piecesKept(known) < PIECES) {
      const { id } = queue.shift();
      try {
        known.set(id, {
          pieces: piecesOf(await get(`${at("/v1/leases", id)}/prices`, {}, signal)),
          at: Date.now(),
        });
      } catch (problem) {
        if (signal.aborted) return;
        if (!(problem instanceof Problem)) throw problem;
        known.set(id, { pieces: [], at: Date.now() }); // its mean is drawn instead
      }
    }
  }
  if (!queue.length) return;
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (!signal.aborted) drawn();
}

function isFresh(found, line) {
  if (!found) return false;
  const reaches = found.pieces.at(-1)?.end ?? Infinity;
  return reaches >= ms(line.end) || Date.now() - found.at < FRESH_MS;
}

function piecesKept(known) {
  let kept = 0;
  for (const { pieces } of known.values()) kept += pieces.length;
  return kept;
}
