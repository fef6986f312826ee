// What one lease was charged: steps over time with the cost below them, its limit, and the pieces as a table.

import { Chart, legend } from "../chart.js";
import { fill, h, say } from "../dom.js";
import { perHour, plural } from "../format.js";
import { Table } from "../table.js";
import { exact, lasted, onAxis, when } from "./figures.js";
import { card, rows as rowsShown } from "./parts.js";
import { closedBlock, pointsOf, thinned } from "./steps.js";

const ROWS = 200;
const MARKS = 24; // more would hide what they mark
const ABOVE = 2.5; // a limit further above the charge than that would make it flat

/** Gives {element, draw({pieces, limits, until})}; `limits` is [[ms, micro-dollars or null], ...], as far as they are known. */
export function chargeChart(label) {
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
export function pieceTable() {
  const note = h("span", { class: "soft small" });
  const table = new Table({
    caption: "What it was charged, piece by piece",
    key: ({ start }) => start,
    empty: "Nothing has been charged yet.",
    columns: [
      { name: "Start", update: (cell, { start }) => sayTime(cell, start) },
      {
        name: "End",
        update: (cell, { end, last }) => (last ? say(cell, "goes on") : sayTime(cell, end)),
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
      say(
        note,
        pieces.length > most
          ? `the newest ${most} of ${plural(pieces.length, "piece")}`
          : plural(pieces.length, "piece"),
      );
    },
  };
}

function sayTime(cell, time) {
  say(cell, when(time));
  cell.title = new Date(time).toISOString();
}
