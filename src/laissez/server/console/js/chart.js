// Draws lines, steps and areas over time as SVG: a few series, one time axis, one value axis, and a
// cursor that follows the pointer and the arrow keys.

import { fill, h, s } from "./dom.js";
import { clock } from "./format.js";

const MARGIN = { top: 8, right: 10, bottom: 20, left: 54 };
const STEPS = [1, 2, 2.5, 5, 10];
const TIME_STEPS_S = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400,
];

/**
 * A chart in an element of its own. `draw({series, from, until, marks, blocks})`:
 *   series: [{name, class, points: [[ms, value], ...], step, area}], points in order of time;
 *     class is "s1" to "s4", "limit" or "floor"; step and area are booleans
 *   from, until: the ends of the time axis, in ms
 *   marks: [{at, text}], vertical lines
 *   blocks: [{from, until, value, text}], hatched: only the total over the time is known
 * `value(v)` formats a value under the cursor, `tick(v)` on the axis; `label` is for screen
 * readers.
 */
export class Chart {
  constructor({ label, height = 180, value = String, tick = value, top = null }) {
    this.height = height;
    this.value = value;
    this.tick = tick;
    this.top = top; // the axis reaches at least this value
    this.label = label;
    this.svg = s("svg", { role: "img", tabindex: "0", "aria-label": label, height });
    this.reading = h("div", { class: "reading", hidden: true });
    this.element = h("div", { class: "chart" }, this.svg, this.reading);
    this.data = { series: [], from: 0, until: 1, marks: [], blocks: [] };
    this.hatch = `hatch-${(Chart.made = (Chart.made ?? 0) + 1)}`;
    this.svg.addEventListener("pointermove", (event) => this.point(this.timeAt(event.offsetX)));
    this.svg.addEventListener("pointerleave", () => this.point(null));
    this.svg.addEventListener(
      "blur",
      () => (this.reading.removeAttribute("aria-live"), this.point(null)),
    );
    this.svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.paint()).observe(this.element);
  }

  draw(data) {
    this.data = { marks: [], blocks: [], ...data };
    this.paint();
  }

  paint() {
    this.width = this.element.clientWidth;
    if (!this.width) return;
    const { series, from, until, marks, blocks } = this.data;
    const high = Math.max(
      this.top ?? 0,
      ...blocks.map(({ value }) => value),
      ...series.flatMap(({ points }) => points.map(([, v]) => v ?? 0)),
    );
    const ticks = niceTicks(high || 1, Math.max(2, Math.floor(this.height / 45)));
    this.high = ticks.at(-1);
    this.span = until - from || 1;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    const right = this.width - MARGIN.right;
    const grid = ticks.map((tick) => [
      s("line", { class: "grid", x1: MARGIN.left, x2: right, y1: this.y(tick), y2: this.y(tick) }),
      s(
        "text",
        { class: "axis-text", x: MARGIN.left - 6, y: this.y(tick) + 4, "text-anchor": "end" },
        this.tick(tick),
      ),
    ]);
    const times = timeTicks(from, until, Math.max(2, Math.floor((right - MARGIN.left) / 90))).map(
      (time) =>
        s(
          "text",
          { class: "axis-text", x: this.x(time), y: this.height - 4, "text-anchor": "middle" },
          timeText(time, this.span),
        ),
    );
    const drawn = series.map((one) => this.series(one));
    const lines = marks.map(({ at, text }) =>
      s(
        "line",
        {
          class: "mark",
          x1: this.x(at),
          x2: this.x(at),
          y1: MARGIN.top,
          y2: this.height - MARGIN.bottom,
        },
        s("title", {}, text),
      ),
    );
    this.cursor = s("line", {
      class: "cursor",
      y1: MARGIN.top,
      y2: this.height - MARGIN.bottom,
      visibility: "hidden",
    });
    fill(this.svg, grid, times, this.hatched(blocks), drawn, lines, this.cursor);
    this.svg.setAttribute("aria-label", this.summary());
    if (this.at !== undefined && this.at !== null) this.point(this.at);
  }

  series({ points, step, area, class: kind }) {
    const line = path(
      points,
      step,
      this.data.until,
      (t) => this.x(t),
      (v) => this.y(v),
    );
    if (!line) return null;
    return [
      area ? s("path", { class: `area ${kind}`, d: this.below(points, step) }) : null,
      s("path", { class: `line ${kind}`, d: line }),
    ];
  }

  /** The area below a line, one piece per run of points without a gap. */
  below(points, step) {
    const pieces = runs(points).map(({ run, gap }) => {
      const last = step ? (gap ?? this.data.until) : run.at(-1)[0];
      const line = path(
        run,
        step,
        last,
        (t) => this.x(t),
        (v) => this.y(v),
      );
      return `${line}L${this.x(last)},${this.y(0)}L${this.x(run[0][0])},${this.y(0)}Z`;
    });
    return pieces.join("");
  }

  hatched(blocks) {
    if (!blocks.length) return null;
    const pattern = s(
      "pattern",
      {
        id: this.hatch,
        width: 7,
        height: 7,
        patternUnits: "userSpaceOnUse",
        patternTransform: "rotate(45)",
      },
      s("line", { class: "hatch", y2: 7 }),
    );
    const drawn = blocks.map(({ from, until, value, text }) => {
      const [left, right, top] = [this.x(from), this.x(until), this.y(value)];
      return s(
        "rect",
        {
          class: "block",
          x: left,
          y: top,
          width: Math.max(1, right - left),
          height: Math.max(1, this.y(0) - top),
          fill: `url(#${this.hatch})`,
        },
        s("title", {}, text),
      );
    });
    return [s("defs", {}, pattern), drawn];
  }

  x(time) {
    const right = this.width - MARGIN.right;
    return round(
      Math.min(
        right,
        Math.max(
          MARGIN.left,
          MARGIN.left + ((time - this.data.from) / this.span) * (right - MARGIN.left),
        ),
      ),
    );
  }

  y(value) {
    return round(
      this.height -
        MARGIN.bottom -
        (value / this.high) * (this.height - MARGIN.top - MARGIN.bottom),
    );
  }

  timeAt(x) {
    const share = (x - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right);
    return this.data.from + Math.min(1, Math.max(0, share)) * this.span;
  }

  key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") this.point(null);
    if (!move) return;
    this.reading.setAttribute("aria-live", "polite"); // keyboard users may not see the cursor
    event.preventDefault();
    const now = this.at ?? this.data.until;
    this.point(Math.min(this.data.until, Math.max(this.data.from, now + (move * this.span) / 60)));
  }

  /** Show the values at a time; null hides the cursor. */
  point(time) {
    this.at = time;
    this.reading.hidden = time === null || !this.data.series.length;
    this.cursor?.setAttribute("visibility", time === null ? "hidden" : "visible");
    if (time === null || !this.cursor) return;
    const x = this.x(time);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    const values = this.data.series
      .map(({ name, points }) => [name, valueAt(points, time)])
      .filter(([, v]) => v !== null);
    fill(
      this.reading,
      h("b", {}, clock(time)),
      values.map(([name, v]) => h("div", {}, `${name} ${this.value(v)}`)),
    );
    const half = this.width / 2;
    Object.assign(
      this.reading.style,
      x < half ? { left: `${x + 8}px`, right: "" } : { left: "", right: `${this.width - x + 8}px` },
    );
  }

  summary() {
    const now = this.data.series
      .map(({ name, points }) => [name, valueAt(points, this.data.until)])
      .filter(([, v]) => v !== null);
    return `${this.label}. ${now.map(([name, v]) => `${name} now ${this.value(v)}`).join(", ")}`;
  }
}

/**
 * The SVG path of a line. A null value leaves a gap. A step holds its value until the next point,
 * the last step until `until`.
 */
function path(points, step, until, x, y) {
  let d = "";
  let pen = "M";
  let height = null;
  for (const [time, value] of points) {
    if (step && height !== null) d += `L${x(time)},${height}`;
    if (value === null) {
      pen = "M";
      height = null;
      continue;
    }
    height = y(value);
    d += `${pen}${x(time)},${height}`;
    pen = "L";
  }
  if (step && height !== null) d += `L${x(until)},${height}`;
  return d;
}

/** Split a line at its gaps. Each run has the time of the gap that ends it. */
function runs(points) {
  const found = [];
  let run = [];
  for (const [time, value] of points) {
    if (value !== null) run.push([time, value]);
    else if (run.length) {
      found.push({ run, gap: time });
      run = [];
    }
  }
  return run.length ? [...found, { run, gap: null }] : found;
}

/** The value at a time: the one of the last point before it. */
export function valueAt(points, time) {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= time) low = middle + 1;
    else high = middle;
  }
  return low ? points[low - 1][1] : null;
}

function niceTicks(high, most) {
  const power = 10 ** Math.floor(Math.log10(high / most));
  const step = power * STEPS.find((size) => size * power * most >= high);
  const ticks = [];
  for (let tick = 0; tick < high + step * 0.999; tick += step)
    ticks.push(Number(tick.toPrecision(12)));
  return ticks.length > 1 ? ticks : [0, step];
}

function timeTicks(from, until, most) {
  const step =
    1000 *
    (TIME_STEPS_S.find((size) => (until - from) / (size * 1000) <= most) ??
      86_400 * Math.ceil((until - from) / (most * 86_400_000)));
  const shift = new Date(from).getTimezoneOffset() * 60_000;
  const ticks = [];
  for (let tick = Math.ceil((from - shift) / step) * step + shift; tick <= until; tick += step)
    ticks.push(tick);
  return ticks;
}

function timeText(time, span) {
  const date = new Date(time);
  if (span > 2 * 86_400_000)
    return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  const seconds = span < 600_000 ? { second: "2-digit" } : {};
  return date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...seconds });
}

function round(number) {
  return Math.round(number * 10) / 10;
}

/** A sparkline for a tile: evenly spaced values, no axes. */
export function spark(values) {
  const high = Math.max(...values, 0) || 1;
  const step = values.length > 1 ? 100 / (values.length - 1) : 0;
  const points = values
    .map((v, i) => `${round(i * step)},${round(28 - (v / high) * 26)}`)
    .join("L");
  return s(
    "svg",
    { viewBox: "0 0 100 30", preserveAspectRatio: "none", "aria-hidden": "true" },
    values.length > 1
      ? [
          s("path", { class: "spark-area", d: `M${points}L100,30L0,30Z` }),
          s("path", { class: "spark", d: `M${points}` }),
        ]
      : null,
  );
}

/** The legend of a chart. */
export function legend(series) {
  return h(
    "div",
    { class: "legend" },
    series.map(({ name, class: kind }) => h("span", {}, h("span", { class: `key ${kind}` }), name)),
  );
}
