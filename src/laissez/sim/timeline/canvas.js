// Shared by all charts: one time axis, sharp lines on any screen, and texts that fit.
const FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif";
const CANVAS_HEIGHT_MAX = 16000; // browsers draw nothing on much higher ones
const scroller = document.getElementById("scroller");
const plot = { left: 104, right: 0 };

// Use the width without the scroll bar everywhere, so that a time is at the same x in every chart.
function measure() {
  const width = scroller.clientWidth;
  plot.left = width < 560 ? 58 : 104;
  plot.right = width - 12;
}

const xOf = (time) => plot.left + ((time - state.from) / (state.to - state.from)) * (plot.right - plot.left);
const timeOf = (x) => state.from + ((x - plot.left) / (plot.right - plot.left)) * (state.to - state.from);

// Clear the canvas; returns its context, in CSS pixels.
function cleared(canvas, width, height) {
  const ratio = Math.min(devicePixelRatio || 1, CANVAS_HEIGHT_MAX / Math.max(height, 1));
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.textBaseline = "middle";
  return context;
}

function write(context, text, x, y, { size = 11, weight = 400, colour = palette.soft, align = "left" } = {}) {
  context.font = `${weight} ${size}px ${FONT}`;
  context.fillStyle = colour;
  context.textAlign = align;
  context.fillText(text, x, y);
}

// The text, cut to the width.
function fitting(context, text, width, size, weight) {
  context.font = `${weight} ${size}px ${FONT}`;
  if (context.measureText(text).width <= width) return text;
  let kept = text;
  while (kept && context.measureText(kept + "…").width > width) kept = kept.slice(0, -1);
  return kept && kept + "…";
}

const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

function timeTicks() {
  const wanted = (state.to - state.from) / Math.max(2, (plot.right - plot.left) / 85);
  const step = TIME_STEPS.find((one) => one >= wanted) ?? TIME_STEPS.at(-1);
  const ticks = [];
  for (let time = Math.ceil(state.from / step) * step; time <= state.to; time += step) ticks.push(time);
  return { ticks, isFine: step < 60 };
}

// About `count` round numbers from `low` to `high`.
function roundTicks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((one) => one * power >= rough) ?? 10);
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) ticks.push(at * step);
  return ticks;
}

function drawAxis(canvas, isBelow) {
  const context = cleared(canvas, canvas.clientWidth, canvas.clientHeight);
  const { ticks, isFine } = timeTicks();
  const middle = canvas.clientHeight / 2;
  for (const time of ticks) write(context, clock(time, isFine), Math.min(xOf(time), plot.right - 14), middle, { align: "center" });
  if (plot.left > 80) write(context, isFine ? "h:min:s" : "h:min", plot.left - 28, middle, { colour: palette.faint, align: "right" });
  if (state.at !== null && !isBelow) drawInstant(context, middle);
}

// The time under the pointer, in a flag on the axis.
function drawInstant(context, middle) {
  const text = clock(state.at, true);
  const x = Math.min(Math.max(xOf(state.at), plot.left + 26), plot.right - 16);
  context.fillStyle = palette.ink;
  context.beginPath();
  context.roundRect(x - 27, middle - 9, 54, 18, 4);
  context.fill();
  write(context, text, x, middle, { colour: palette.panel, align: "center", weight: 600 });
}

function drawGrid(context, top, bottom) {
  context.fillStyle = palette.grid;
  for (const time of timeTicks().ticks) context.fillRect(Math.round(xOf(time)), top, 1, bottom - top);
}

// Drawn over every chart: the marked span, the chosen tenant's life, and the time under the pointer.
function drawOver(context, top, bottom) {
  if (state.marked) {
    const [from, to] = [xOf(Math.min(...state.marked)), xOf(Math.max(...state.marked))];
    context.fillStyle = palette.mark;
    context.fillRect(from, top, to - from, bottom - top);
  }
  if (state.tenant !== null) {
    const { start_s, end_s } = tenants[state.tenant];
    for (const time of [start_s, end_s]) drawUpright(context, time, top, bottom, palette.accent, [5, 4]);
  }
  if (state.at !== null) drawUpright(context, state.at, top, bottom, palette.ink, []);
}

function drawUpright(context, time, top, bottom, colour, dashes) {
  if (time < state.from || time > state.to) return;
  const x = Math.round(xOf(time)) + 0.5;
  context.save();
  context.strokeStyle = colour;
  context.setLineDash(dashes);
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x, bottom);
  context.stroke();
  context.restore();
}
