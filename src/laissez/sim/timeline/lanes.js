// The leases: one bar each, in the lane of its GPU. Only visible ones are drawn.
const lanesCanvas = document.getElementById("lanes");
const spacer = document.getElementById("spacer");
const LABEL_LANE_MIN = 12;
const CAP_LANE_MIN = 3;

function drawLanes() {
  spacer.style.height = `${rows.height}px`;
  const height = isPrinting ? Math.min(rows.height, CANVAS_HEIGHT_MAX) : scroller.clientHeight;
  lanesCanvas.style.height = `${height}px`;
  const context = cleared(lanesCanvas, lanesCanvas.clientWidth, height);
  const top = isPrinting ? 0 : scroller.scrollTop;
  context.save();
  context.translate(0, -top);
  const drawn = drawRows(context, top, top + height);
  drawOver(context, top, top + height);
  context.restore();
  return drawn;
}

function drawRows(context, top, bottom) {
  const visible = (list) => list.slice(firstBelow(list, top), firstBelow(list, bottom) + 1);
  const inSight = visible(rows.lanes);
  context.fillStyle = palette.lane;
  for (const lane of inSight) context.fillRect(plot.left, lane.y, plot.right - plot.left, lane.height - gapOf(lane));
  for (const { y, height } of visible(rows.hosts)) drawGrid(context, y, y + height);
  context.save();
  context.beginPath();
  context.rect(plot.left, top, plot.right - plot.left, bottom - top);
  context.clip();
  let drawn = 0;
  for (const lane of inSight) drawn += drawLane(context, lane);
  context.restore();
  for (const heading of visible(rows.headings)) drawHeading(context, heading);
  for (const row of visible(rows.hosts)) drawHost(context, row);
  return drawn;
}

const gapOf = (lane) => (lane.height >= 8 ? 1.5 : lane.height >= 3 ? 0.5 : 0);

function drawLane(context, lane) {
  const here = lanes[lane.leaf];
  const tree = lane.host.tree;
  let drawn = 0;
  for (let at = firstEndingAfter(here, state.from); at < here.length && here[at].start < state.to; at += 1) {
    drawBar(context, lane, here[at], tree);
    drawn += 1;
  }
  return drawn;
}

function drawBar(context, lane, lease, tree) {
  const [left, right] = [Math.max(xOf(lease.start), plot.left - 4), Math.min(xOf(lease.end), plot.right + 4)];
  const wide = right - left;
  const width = Math.max(wide > 4 ? wide - 1 : wide, 0.8);
  const height = lane.height - gapOf(lane);
  const isDim = (state.tenant !== null && state.tenant !== lease.tenant) || (state.byPrice && lease.prices.length === 0);
  if (state.byPrice && !isDim) {
    for (const [start, end, price] of pieces(lease)) {
      context.fillStyle = priceColour(priceShare(tree, price));
      const from = Math.max(xOf(start), left);
      context.fillRect(from, lane.y, Math.max(Math.min(xOf(end), left + width) - from, 0.5), height);
    }
  } else {
    context.fillStyle = isDim ? palette.dim : palette.tenants[lease.tenant];
    context.fillRect(left, lane.y, width, height);
  }
  if (isDim) return;
  if (wasTaken(lease) && lane.height >= CAP_LANE_MIN && wide > 6) {
    context.fillStyle = palette.ink;
    context.fillRect(left + width - 2.5, lane.y, 2.5, height);
  }
  if (lane.height >= LABEL_LANE_MIN && wide > 20) drawLabel(context, lane, lease, left, width, height, tree);
  if (lease === state.lease) {
    context.strokeStyle = palette.ink;
    context.lineWidth = 2;
    context.strokeRect(left + 1, lane.y + 1, Math.max(width - 2, 1), Math.max(height - 2, 1));
    context.lineWidth = 1;
  }
}

function drawLabel(context, lane, lease, left, width, height, tree) {
  const { name } = tenants[lease.tenant];
  context.font = `500 10px ${FONT}`;
  const text = [name, name.split("-").at(-1)].find((one) => context.measureText(one).width <= width - 10); // the colour already says "batch" of "batch-07"
  if (!text) return;
  let colour = palette.texts[lease.tenant];
  if (state.byPrice) {
    const share = priceShare(tree, priceAt(lease, Math.max(lease.start, state.from)));
    colour = (palette.isDark ? share > 0.35 : share < 0.45) ? "#101418" : "#ffffff";
  }
  write(context, text, Math.max(left, plot.left) + 5, lane.y + height / 2 + 0.5, { size: 10, weight: 500, colour });
}

function drawHeading(context, heading) {
  const middle = heading.y + heading.height / 2 + (heading.isTree ? 1 : 0);
  const size = heading.isTree ? 13 : 11;
  const weight = heading.isTree ? 650 : 400;
  const text = fitting(context, heading.text, plot.right - 20, size, weight);
  write(context, text, 14, middle, { size, weight, colour: heading.isTree ? palette.ink : palette.soft });
}

// In the margin: the host, a triangle that shows whether it is open, and the names of its GPUs if there is room.
function drawHost(context, { y, host }) {
  const isNarrow = plot.left < 80;
  const lane = rows.lanes[firstBelow(rows.lanes, y)];
  const middle = y + (host.isOpen ? OPEN_LANE : HOST_HEIGHT_MIN) / 2;
  const start = isNarrow ? 4 : 14;
  drawTriangle(context, start + 3, middle, host.isOpen);
  const room = isNarrow ? plot.left - 16 : host.isOpen ? 42 : plot.left - 30;
  write(context, fitting(context, host.name, room, 11, 500), start + 10, middle, { weight: 500, colour: palette.ink });
  if (!host.isOpen) return;
  for (const [at, leaf] of host.leaves.entries()) {
    if (isNarrow && at === 0) continue;
    const name = run.leaves[leaf].split("/").at(-1);
    const middle = y + (at + 0.5) * lane.height;
    write(context, fitting(context, name, 36, 10, 400), plot.left - 6, middle, { size: 10, colour: palette.faint, align: "right" });
  }
}

function drawTriangle(context, x, y, isOpen) {
  context.fillStyle = palette.faint;
  context.beginPath();
  if (isOpen) [[-3.5, -2], [3.5, -2], [0, 3]].forEach(([dx, dy]) => context.lineTo(x + dx, y + dy));
  else [[-2, -3.5], [3, 0], [-2, 3.5]].forEach(([dx, dy]) => context.lineTo(x + dx, y + dy));
  context.fill();
}
