// The heading, the toolbar, the legend, and the scheduling of draws.
let isPrinting = false;
let isDue = false;

const byId = (id) => document.getElementById(id);

function heading() {
  byId("scenario").textContent = run.scenario;
  const whole = `${tenants.length} tenants on ${run.gpus} GPUs, demand ${run.demand.toFixed(2)} times supply, ${clock(span)} hours`;
  byId("setting").textContent = `${run.cloud} cloud, seed ${run.seed}: ${whole}`;
  const facts = [
    ["retention", percent(run.retention)],
    ["utilisation", percent(run.utilisation)],
    ["revenue", money(run.revenue)],
    ["leases", `${leases.length}`],
  ];
  byId("facts").append(...facts.map(([term, text]) => element("div", {}, element("dt", {}, term), element("dd", {}, text))));
  const unleased = run.gpus - run.leaves.length;
  byId("unleased").textContent = unleased > 0 ? `${unleased} of ${run.gpus} GPUs were never leased and have no row.` : "";
}

function legend() {
  const kinds = kindsHere.map((kind) => {
    const swatches = element("span", { class: "swatches" });
    for (let rank = 0; rank < 4; rank += 1) swatches.append(element("i", { style: `background:${tenantColour(kind, rank)}` }));
    return element("li", {}, swatches, kind);
  });
  const ramps = [...priceRanges].map(([tree, { low, high, isCut }]) => {
    const colours = [0, 0.25, 0.5, 0.75, 1].map((share) => priceColour(high > low ? share : 0.35));
    const ramp = element("span", { class: "ramp", style: `background:linear-gradient(to right, ${colours.join(", ")})` });
    return element("li", {}, `${tree} ${money(low)}`, ramp, high > low ? `${money(high)}${isCut ? " and more" : ""}` : "always");
  });
  const marks = [element("li", {}, element("span", { class: "cap" }), "taken away"), element("li", {}, element("span", { class: "idle" }), "idle")];
  byId("legend").replaceChildren(...(state.byPrice ? ramps : kinds), ...marks);
}

function pressed(chosen, other) {
  byId(chosen).setAttribute("aria-pressed", "true");
  byId(other).setAttribute("aria-pressed", "false");
}

function colourBy(isPrice) {
  state.byPrice = isPrice;
  pressed(isPrice ? "by-price" : "by-tenant", isPrice ? "by-tenant" : "by-price");
  legend();
  redraw();
}

function showRows(isOpen) {
  openHosts(isOpen);
  pressed(isOpen ? "rows-gpus" : "rows-hosts", isOpen ? "rows-hosts" : "rows-gpus");
  layRows();
  redraw();
}

function draw() {
  isDue = false;
  measure();
  const drawn = drawLanes();
  drawAxis(byId("axis"), false);
  drawPrices();
  drawAxis(byId("axis-below"), true);
  byId("zoom-reset").disabled = state.from === 0 && state.to === span;
  document.documentElement.dataset.drawn = drawn; // the number of visible bars; tests read it
}

function redraw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(draw);
}

function recolour() {
  readPalette();
  colourTenants();
  legend();
  draw();
}

byId("by-tenant").addEventListener("click", () => colourBy(false));
byId("by-price").addEventListener("click", () => colourBy(true));
byId("rows-gpus").addEventListener("click", () => showRows(true));
byId("rows-hosts").addEventListener("click", () => showRows(false));
byId("zoom-in").addEventListener("click", () => zoom(0.5));
byId("zoom-out").addEventListener("click", () => zoom(2));
byId("zoom-reset").addEventListener("click", () => show(0, span));
scroller.addEventListener("scroll", redraw, { passive: true });
new ResizeObserver(redraw).observe(scroller);
darkness.addEventListener("change", recolour);
matchMedia("print").addEventListener("change", (event) => {
  isPrinting = event.matches;
  recolour();
});

heading();
listTenants();
layRows();
pressed(run.leaves.length <= MANY_GPUS ? "rows-gpus" : "rows-hosts", run.leaves.length <= MANY_GPUS ? "rows-hosts" : "rows-gpus");
recolour();
