// All charges of a bill over time, as one sum: the area below it is the total.

import { Problem, at, get } from "../api.js";
import { Chart, legend } from "../chart.js";
import { fill, h, say } from "../dom.js";
import { micros, plural } from "../format.js";
import { ms, onAxis } from "./figures.js";
import { closedBlock, piecesOf, piecesOfLine, sumOf, thinned } from "./steps.js";

const LEASES = 80; // whose every piece is fetched; the others are drawn by their mean, which leaves the area as it is
const AT_ONCE = 4;
const PIECES = 20_000; // over all leases: every hundred cost as much as another question
const FRESH_MS = 60_000;

/** Gives {element, show(bill), close()}. */
export function billChart() {
  const chart = new Chart({
    label: "Charges of all leases together over time",
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
    say(note, about(bill, known));
  }

  return {
    element: h("div", { class: "stack tight" }, key, chart.element, note),
    show,
    close: () => aborter?.abort(),
  };
}

/** The axis begins where something was first charged. */
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
  const some = `The dearest ${plural(drawn, "lease")} of ${lines.length} ${drawn === 1 ? "is" : "are"} drawn piece by piece`;
  return `${some}, the others by their mean: the area is the cost all the same.`;
}

/** Fetch what is not known or not fresh, a few at a time. */
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
        known.set(id, { pieces: [], at: Date.now() }); // its mean will do
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
