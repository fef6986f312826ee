// Turns price histories and bill lines into points of a chart whose area is the cost.

import { HOUR_MS, dollars, micros, ms } from "../format.js";

const DRAWN = 1500; // more points would not be visible

/**
 * The pieces of a price history, in milliseconds and micro-dollars. A null `rate` means that only
 * the cost is known.
 */
export function piecesOf(history) {
  return history.segments.map(({ start, end, rate, cost }) => ({
    start: ms(start),
    end: ms(end),
    rate: micros(rate),
    cost: micros(cost),
  }));
}

/** The constant rate that costs `cost` from start to end. */
function averageRate(cost, start, end) {
  return end > start ? (cost * HOUR_MS) / (end - start) : 0;
}

/** A chart block for a time of which only the cost is known. */
export function closedBlock(name, from, until, cost) {
  return {
    from,
    until,
    value: averageRate(cost, from, until),
    text: `${name}: ${dollars(cost, 6)} in total`,
  };
}

/** The points of a step line. Time between pieces is a gap. */
export function pointsOf(pieces) {
  const points = [];
  for (const { start, end, rate } of pieces) {
    if (points.length && points.at(-1)[0] === start) points.pop();
    points.push([start, rate], [end, null]);
  }
  return points;
}

/**
 * The charges of a bill line over time, which sum up to its cost: the known pieces within the
 * line's bounds, and a constant rate for the rest of the time and cost.
 */
export function piecesOfLine(line, pieces = []) {
  const [start, end] = [ms(line.start), ms(line.end)];
  const known = pieces
    .filter((piece) => piece.rate !== null && piece.end > start && piece.start < end)
    .map((piece) => within(piece, start, end));
  const covered = known.reduce((sum, piece) => sum + piece.end - piece.start, 0);
  const cost = known.reduce((sum, piece) => sum + piece.cost, 0);
  const rest = end - start - covered;
  if (rest < 1) return known;
  const rate = Math.max(0, averageRate(micros(line.cost) - cost, 0, rest));
  return [...known, ...gaps(known, start, end).map((gap) => ({ ...gap, rate, average: true }))];
}

function within(piece, start, end) {
  const from = Math.max(piece.start, start);
  const until = Math.min(piece.end, end);
  return {
    start: from,
    end: until,
    rate: piece.rate,
    cost: (piece.rate * (until - from)) / HOUR_MS,
  };
}

function gaps(pieces, start, end) {
  const found = [];
  let from = start;
  for (const piece of pieces) {
    if (piece.start > from) found.push({ start: from, end: piece.start });
    from = Math.max(from, piece.end);
  }
  if (from < end) found.push({ start: from, end });
  return found;
}

/** The points of the step line that is the sum of many pieces. */
export function sumOf(pieces) {
  const turns = new Map();
  for (const { start, end, rate } of pieces) {
    turns.set(start, (turns.get(start) ?? 0) + rate);
    turns.set(end, (turns.get(end) ?? 0) - rate);
  }
  let height = 0;
  return [...turns]
    .sort(([a], [b]) => a - b)
    .map(([time, by]) => [time, Math.max(0, (height += by))]);
}

/**
 * Reduce a step line to few enough points to draw: means over equal intervals, which keep the area.
 */
export function thinned(points, until) {
  const from = points[0]?.[0];
  if (points.length <= DRAWN || until <= from || points.some(([, value]) => value === null))
    return points;
  const slots = DRAWN / 2;
  const width = (until - from) / slots;
  const sums = new Float64Array(slots);
  points.forEach(([start, value], i) => {
    const end = Math.min(until, points[i + 1]?.[0] ?? until) - from;
    let slot = Math.floor((start - from) / width);
    for (let time = start - from; time < end; slot += 1) {
      const next = slot < slots - 1 ? Math.min(end, (slot + 1) * width) : end;
      sums[Math.min(slot, slots - 1)] += value * Math.max(0, next - time);
      time = Math.max(time, next);
    }
  });
  return Array.from(sums, (sum, slot) => [from + slot * width, sum / width]);
}
