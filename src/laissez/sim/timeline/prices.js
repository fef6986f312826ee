// Below the leases, for each type: the price of one more GPU, the mean price of the leased ones, and how many are leased.
const SERIES_HEIGHT = 128;
const PRICES = { top: 8, bottom: 82 };
const LEASED = { top: 92, bottom: 124 };

const charts = run.series.map((series) => {
  const outputs = { quoted: element("output"), charged: element("output"), leased: element("output") };
  const canvas = element("canvas", { role: "img", "aria-label": `Prices and number of leased ${series.tree} GPUs over time` });
  const caption = element(
    "figcaption", {},
    element("b", {}, series.tree),
    element("span", { class: "quoted" }, "quoted", outputs.quoted),
    element("span", { class: "charged" }, "mean charged", outputs.charged),
    element("span", { class: "leased" }, "leased", outputs.leased),
  );
  document.getElementById("prices").append(element("figure", { class: "series" }, caption, canvas));
  const known = [...series.quoted, ...series.charged].filter((price) => price !== null);
  const [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  const margin = Math.max((high - low) * 0.08, 0.01, low === high ? high * 0.2 : 0);
  const isFromZero = low < high / 2 || high - low < high / 10; // or tiny changes of a steady price would look large
  return { series, canvas, outputs, low: isFromZero ? 0 : low - margin, high: high + margin, most: Math.max(1, ...series.leased) };
});

function drawPrices() {
  for (const chart of charts) {
    const context = cleared(chart.canvas, chart.canvas.clientWidth, SERIES_HEIGHT);
    const yOf = (price) => PRICES.bottom - ((price - chart.low) / (chart.high - chart.low)) * (PRICES.bottom - PRICES.top);
    drawGrid(context, PRICES.top, LEASED.bottom);
    const ticks = roundTicks(chart.low, chart.high, 3);
    const areWhole = ticks.every(Number.isInteger);
    for (const price of ticks) {
      context.fillStyle = palette.grid;
      context.fillRect(plot.left, Math.round(yOf(price)), plot.right - plot.left, 1);
      write(context, areWhole ? `$${price}` : money(price), plot.left - 6, yOf(price), { size: 10, align: "right", colour: palette.faint });
    }
    context.save();
    context.beginPath();
    context.rect(plot.left, 0, plot.right - plot.left, SERIES_HEIGHT);
    context.clip();
    drawLeased(context, chart);
    drawSteps(context, chart.series, chart.series.quoted, yOf, palette.quoted, []);
    drawSteps(context, chart.series, chart.series.charged, yOf, palette.charged, [5, 3]); // on top and dashed, so that both are visible where they are equal
    context.restore();
    write(context, `${chart.most}`, plot.left - 6, LEASED.top + 4, { size: 10, align: "right", colour: palette.faint });
    write(context, "0", plot.left - 6, LEASED.bottom - 3, { size: 10, align: "right", colour: palette.faint });
    drawOver(context, PRICES.top, LEASED.bottom);
    readOut(chart);
  }
}

const endOf = (series, at) => (at + 1 < series.at_s.length ? series.at_s[at + 1] : span);

// A price holds until the next sample. Where there is no price, the line has a gap.
function drawSteps(context, series, values, yOf, colour, dashes) {
  context.strokeStyle = colour;
  context.lineWidth = 1.6;
  context.setLineDash(dashes);
  context.beginPath();
  values.forEach((value, at) => {
    if (value === null) return;
    if (at === 0 || values[at - 1] === null) context.moveTo(xOf(series.at_s[at]), yOf(value));
    else context.lineTo(xOf(series.at_s[at]), yOf(value));
    context.lineTo(xOf(endOf(series, at)), yOf(value));
  });
  context.stroke();
  context.setLineDash([]);
  context.lineWidth = 1;
}

function drawLeased(context, chart) {
  const { series, most } = chart;
  const yOf = (count) => LEASED.bottom - (count / most) * (LEASED.bottom - LEASED.top);
  context.fillStyle = palette.leased;
  context.beginPath();
  context.moveTo(xOf(0), LEASED.bottom);
  series.leased.forEach((count, at) => {
    context.lineTo(xOf(series.at_s[at]), yOf(count));
    context.lineTo(xOf(endOf(series, at)), yOf(count));
  });
  context.lineTo(xOf(span), LEASED.bottom);
  context.fill();
  context.fillStyle = palette.line;
  context.fillRect(plot.left, LEASED.bottom, plot.right - plot.left, 1);
  if (state.tenant === null) return;
  context.fillStyle = palette.tenants[state.tenant];
  for (const [from, to, count] of heldOver(state.tenant, series.tree)) {
    context.fillRect(xOf(from), yOf(count), xOf(to) - xOf(from), LEASED.bottom - yOf(count));
  }
}

// The number of GPUs of a type that a tenant held, as [from, to, count].
function heldOver(tenant, tree) {
  const changes = leases
    .filter((lease) => lease.tenant === tenant && treeOf(run.leaves[lease.leaf]) === tree)
    .flatMap((lease) => [[lease.start, 1], [lease.end, -1]])
    .sort((one, other) => one[0] - other[0]);
  let count = 0;
  return changes.map(([time, change], at) => {
    count += change;
    return [time, changes[at + 1]?.[0] ?? time, count];
  });
}

function readOut({ series, outputs }) {
  const at = state.at === null ? -1 : series.at_s.findLastIndex((time) => time <= state.at);
  const dollars = (price) => (at < 0 ? "" : price === null ? "none" : money(price));
  outputs.quoted.textContent = dollars(series.quoted[at] ?? null);
  outputs.charged.textContent = dollars(series.charged[at] ?? null);
  outputs.leased.textContent = at < 0 ? "" : `${series.leased[at]}`;
}
