// Interaction: the pointer, the wheel, touch and keys.
const SPAN_MIN = 5; // seconds; the shortest span to zoom to
const DRAG_MIN = 4; // pixels; less is a click
const tip = document.getElementById("tip");
const fingers = new Map();
let drag = null;

function show(from, to) {
  const width = Math.min(Math.max(to - from, Math.min(SPAN_MIN, span)), span);
  state.from = Math.min(Math.max(0, from), span - width);
  state.to = state.from + width;
  redraw();
}

function zoom(factor, around = (state.from + state.to) / 2) {
  show(around - (around - state.from) * factor, around + (state.to - around) * factor);
}

function pan(share) {
  const step = (state.to - state.from) * share;
  show(state.from + step, state.to + step);
}

function pointAt(canvas, event) {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left;
  return { x, y: event.clientY - box.top, isInPlot: x >= plot.left && x <= plot.right };
}

function hover(canvas, event) {
  const { x, y, isInPlot } = pointAt(canvas, event);
  state.at = isInPlot ? timeOf(x) : null;
  const lane = canvas === lanesCanvas && isInPlot ? laneAt(y + scroller.scrollTop) : null;
  const isOnLane = lane !== null && y + scroller.scrollTop >= lane.y;
  state.lease = isOnLane ? leaseAt(lanes[lane.leaf], state.at) : null;
  showTip(state.lease, state.at, event.clientX, event.clientY);
  canvas.style.cursor = isInPlot ? "crosshair" : canvas === lanesCanvas ? "pointer" : "default";
  redraw();
}

function leaveChart() {
  state.at = state.lease = null;
  tip.hidden = true;
  redraw();
}

function tipRows(lease, time) {
  const prices = lease.prices.filter((_, at) => at % 2 === 1);
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  const range = high > low ? ` (${money(low)} to ${money(high)})` : "";
  return [
    ["leased", `${clock(lease.start, true)} to ${clock(lease.end, true)}, ${duration(lease.end - lease.start)}`],
    ["ended", REASONS[lease.reason] ?? lease.reason.replaceAll("_", " ")],
    [`price at ${clock(time, true)}`, prices.length ? `${money(priceAt(lease, time))}/h${range}` : "not charged"],
    ["cost", money(lease.cost)],
  ];
}

function showTip(lease, time, x, y) {
  tip.hidden = lease === null;
  if (lease === null) return;
  const tenant = tenants[lease.tenant];
  const list = element("dl");
  for (const [term, text] of tipRows(lease, time)) list.append(element("dt", {}, term), element("dd", {}, text));
  const swatch = element("i", { style: `background:${palette.tenants[lease.tenant]}` });
  const name = element("strong", {}, swatch, tenant.name, element("span", {}, tenant.kind));
  tip.replaceChildren(name, element("div", { class: "path" }, run.leaves[lease.leaf]), list);
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  tip.style.left = `${Math.max(8, x + 16 + width > innerWidth ? x - width - 12 : x + 16)}px`;
  tip.style.top = `${Math.max(8, y + 18 + height > innerHeight ? y - height - 12 : y + 18)}px`;
}

// The mouse marks a span to zoom to, or pans with Shift; one finger pans, two pinch.
function press(canvas, event) {
  if (event.button !== 0) return;
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, event.clientX);
  const { x, isInPlot } = pointAt(canvas, event);
  const isPan = event.shiftKey || event.pointerType !== "mouse";
  drag = { x, time: timeOf(x), isPan, isInPlot, hasMoved: false, from: state.from, to: state.to };
}

function move(canvas, event) {
  if (!drag || !fingers.has(event.pointerId)) return hover(canvas, event);
  const { x } = pointAt(canvas, event);
  if (fingers.size === 2) return pinch(event);
  fingers.set(event.pointerId, event.clientX);
  drag.hasMoved ||= Math.abs(x - drag.x) >= DRAG_MIN;
  if (!drag.hasMoved || !drag.isInPlot) return;
  tip.hidden = true;
  if (drag.isPan) {
    const step = ((drag.x - x) / (plot.right - plot.left)) * (drag.to - drag.from);
    show(drag.from + step, drag.to + step);
  } else {
    state.at = Math.min(Math.max(timeOf(x), state.from), state.to);
    state.marked = [drag.time, state.at];
    redraw();
  }
}

function pinch(event) {
  const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
  const before = Math.abs(fingers.get(event.pointerId) - other);
  fingers.set(event.pointerId, event.clientX);
  drag.hasMoved = tip.hidden = true;
  const box = lanesCanvas.getBoundingClientRect();
  zoom(Math.max(before, 8) / Math.max(Math.abs(event.clientX - other), 8), timeOf((event.clientX + other) / 2 - box.left));
}

function release(canvas, event) {
  fingers.delete(event.pointerId);
  if (!drag || fingers.size) return;
  const { hasMoved } = drag;
  drag = null;
  if (state.marked) {
    const [from, to] = [Math.min(...state.marked), Math.max(...state.marked)];
    state.marked = null;
    show(from, to);
  } else if (!hasMoved && event.type === "pointerup") click(canvas, event);
}

function click(canvas, event) {
  hover(canvas, event);
  if (canvas !== lanesCanvas) return;
  const { y, isInPlot } = pointAt(canvas, event);
  const row = rows.hosts[firstBelow(rows.hosts, y + scroller.scrollTop)];
  if (!isInPlot && row && y + scroller.scrollTop >= row.y) toggleHost(row.host);
  else if (event.pointerType === "mouse") choose(state.lease === null || state.lease.tenant === state.tenant ? null : state.lease.tenant);
}

function toggleHost(host) {
  host.isOpen = !host.isOpen;
  layRows();
  redraw();
}

function wheel(canvas, event) {
  const isZoom = event.ctrlKey || event.metaKey || event.altKey;
  const sideways = event.shiftKey ? event.deltaY || event.deltaX : Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : 0;
  if (!isZoom && !sideways) return; // the page or the rows scroll
  event.preventDefault();
  if (isZoom) zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), timeOf(pointAt(canvas, event).x));
  else pan(sideways / 1000);
}

// Step to the next lease of a lane, or to the lane above or below at about the same time.
function step(key) {
  const current = state.lease ?? leases.find((lease) => lease.end > state.from);
  if (!current) return;
  const position = rows.lanes.findIndex((lane) => lane.leaf === current.leaf);
  const lane = lanes[current.leaf];
  const neighbour = rows.lanes[position + (key === "ArrowDown") - (key === "ArrowUp")];
  if (state.lease === null) visit(current);
  else if (key === "ArrowLeft" || key === "ArrowRight") visit(lane[lane.indexOf(current) + (key === "ArrowRight" ? 1 : -1)] ?? current);
  else if (neighbour) visit(lanes[neighbour.leaf][Math.min(firstEndingAfter(lanes[neighbour.leaf], state.at), lanes[neighbour.leaf].length - 1)]);
}

function visit(lease) {
  state.lease = lease;
  state.at = Math.min(Math.max(state.at ?? lease.start, lease.start), lease.end);
  if (state.at < state.from || state.at > state.to) show(state.at - (state.to - state.from) / 2, state.at + (state.to - state.from) / 2);
  const lane = rows.lanes.find((one) => one.leaf === lease.leaf);
  if (lane.y < scroller.scrollTop + 30) scroller.scrollTop = lane.y - 30;
  if (lane.y + lane.height > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = lane.y + lane.height - scroller.clientHeight + 10;
  const box = lanesCanvas.getBoundingClientRect();
  showTip(lease, state.at, box.left + xOf(state.at), box.top + lane.y + lane.height - scroller.scrollTop);
  const said = tipRows(lease, state.at).map((row) => row.join(" ")).join(". ");
  document.getElementById("said").textContent = `${tenants[lease.tenant].name}, ${run.leaves[lease.leaf]}. ${said}`;
  redraw();
}

const KEYS = {
  "+": () => zoom(0.5, state.at ?? undefined),
  "=": () => zoom(0.5, state.at ?? undefined),
  "-": () => zoom(2, state.at ?? undefined),
  "0": () => show(0, span),
  ",": () => pan(-0.25),
  ".": () => pan(0.25),
  ArrowLeft: step, ArrowRight: step, ArrowUp: step, ArrowDown: step,
  Enter: () => state.lease && choose(state.lease.tenant === state.tenant ? null : state.lease.tenant),
  " ": () => state.lease && toggleHost(rows.lanes.find((lane) => lane.leaf === state.lease.leaf).host),
};

for (const canvas of [lanesCanvas, ...charts.map((chart) => chart.canvas)]) {
  canvas.addEventListener("pointerdown", (event) => press(canvas, event));
  canvas.addEventListener("pointermove", (event) => move(canvas, event));
  canvas.addEventListener("pointerup", (event) => release(canvas, event));
  canvas.addEventListener("pointercancel", (event) => release(canvas, event));
  canvas.addEventListener("pointerleave", (event) => drag || event.pointerType !== "mouse" || leaveChart()); // a lifted finger leaves too
  canvas.addEventListener("wheel", (event) => wheel(canvas, event), { passive: false });
}
lanesCanvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key](event.key);
});
lanesCanvas.addEventListener("blur", leaveChart);
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  leaveChart();
  choose(null);
});
