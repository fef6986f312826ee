// The data of the run and the state of the view, and the formats of times and money.
const run = JSON.parse(document.getElementById("run").textContent);
const tenants = run.tenants;
const leases = run.leases.map(([leaf, tenant, start, end, reason, cost, prices]) => (
  { leaf, tenant, start, end, reason: run.reasons[reason], cost, prices }
));
const lanes = run.leaves.map(() => []);
for (const lease of leases) lanes[lease.leaf].push(lease);
const span = Math.max(run.span_s, ...tenants.map((one) => one.end_s), 1);

const VOLUNTARY = ["relinquished", "budget_spent", "lasting"];
const REASONS = {
  relinquished: "relinquished by the tenant", outbid: "outbid", floor_raised: "floor raised above its limit", taken_offline: "node taken offline",
  budget_spent: "budget spent", preempted: "preempted", lasting: "lasting at the end of the run",
};

// The current view.
const state = { from: 0, to: span, tenant: null, byPrice: false, at: null, lease: null, marked: null };

const treeOf = (path) => path.split("/", 1)[0];
const wasTaken = (lease) => !VOLUNTARY.includes(lease.reason);
const heldHours = (tenant) => tenant.hours.reduce((sum, one) => sum + one, 0);

// The price in force at `time`: the last piece that has begun.
function priceAt(lease, time) {
  let price = lease.prices[1];
  for (let at = 2; at < lease.prices.length && lease.prices[at] <= time; at += 2) price = lease.prices[at + 1];
  return price;
}

function* pieces(lease) {
  for (let at = 0; at < lease.prices.length; at += 2) {
    const end = at + 2 < lease.prices.length ? lease.prices[at + 2] : lease.end;
    yield [Math.max(lease.prices[at], lease.start), Math.min(end, lease.end), lease.prices[at + 1]];
  }
}

// The lease of a lane at `time`. The leases of a lane never overlap.
function leaseAt(lane, time) {
  const found = lane[firstEndingAfter(lane, time)];
  return found && found.start <= time ? found : null;
}

function firstEndingAfter(lane, time) {
  let low = 0;
  let high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane[middle].end <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

const money = (dollars) => (Math.abs(dollars) >= 1000 ? "$" + Math.round(dollars).toLocaleString("en-US") : "$" + dollars.toFixed(2));
const percent = (share) => (share === null ? "-" : (100 * share).toFixed(share < 0.9995 && share >= 0.0995 ? 1 : 0) + " %");

function clock(seconds, fine) {
  const whole = fine ? Math.round(seconds) : Math.round(seconds / 60) * 60;
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const text = `${hours}:${String(minutes).padStart(2, "0")}`;
  return fine ? `${text}:${String(rest).padStart(2, "0")}` : text;
}

function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}
