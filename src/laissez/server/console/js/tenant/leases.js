// The leases page, a tenant's first: key figures, leases near their limit, and current and ended
// leases.

import { get, serverNow } from "../api.js";
import { LINE_MS, card, pathName, smallButton, tile } from "../components.js";
import { toast } from "../dialogs.js";
import { fill, h, keyed, setText } from "../dom.js";
import { fetchOlderEvents, knownEvents } from "../event-log.js";
import { explainEnd } from "../event-text.js";
import {
  count,
  dollars,
  exact,
  lasted,
  micros,
  ms,
  percent,
  plural,
  rate,
  reason,
  running,
  when,
} from "../format.js";
import { Table } from "../table.js";
import { everySecond, poll, throttled } from "../timers.js";
import { budgetTile, capsTile } from "./budget.js";
import { Holdings, RunningTotal, headroom, isNear } from "./holdings.js";
import { raiseAll, raisedLimit, setLimit } from "./lease-dialogs.js";
import { LeaseTable } from "./lease-table.js";
import { leaseDetail } from "./lease.js";

const BILL_EVERY_MS = 30_000;
const BILL_SOONEST_MS = 5000;
const ENDED_SOONEST_MS = 1000;
const NEAR_SHOWN = 4;
const ENDED_SHOWN = 25;
const ENDED_MORE = 100;

export const leases = { path: "leases", name: "Leases", mount };

function mount(main, context) {
  const { feed, mayTrade } = context;
  const bill = { spent: new RunningTotal(), lines: new Map(), again: 0 };
  const tiles = {
    held: tile("Leases"),
    charged: tile("Charge per hour now"),
    spent: tile("Cost so far"),
  };
  const budget = budgetTile(context);
  const caps = capsTile(context);
  const near = nearLimitCard(mayTrade);
  const table = new LeaseTable(context);
  const ended = endedList();
  const list = h("div", { class: "stack" });
  const detail = h("div", { class: "stack", hidden: true });
  let one = null;

  const holdings = new Holdings(feed, (changed) => {
    table.show(holdings.list, changed);
    near.show(holdings.list);
    tick();
  });
  const asking = poll(async () => {
    if (Date.now() < bill.again) return;
    const answer = await get("/v1/bills");
    bill.again = Date.now() + answer.lines.length * LINE_MS;
    bill.spent.set(micros(answer.total), Date.parse(answer.until));
    bill.lines = new Map(answer.lines.map((line) => [line.id, line]));
    tick();
    showEnded();
  }, BILL_EVERY_MS);
  const showEnded = throttled(() => ended.show(feed, bill.lines), ENDED_SOONEST_MS);
  const askBill = throttled(asking.now, BILL_SOONEST_MS);
  const past = () => fetchOlderEvents(feed, showEnded);
  const stops = [
    feed.onChange(["lease.ended", "backfill"], () => (past(), showEnded(), askBill())),
    everySecond(() => (tick(), table.table.refresh(), budget.tick())),
  ];
  past();
  showEnded();

  function tick() {
    if (!holdings.known) return;
    const { charged } = holdings;
    const held = holdings.list;
    tiles.held.update({ value: count(held.length), note: trees(held) });
    tiles.charged.update({
      value: rate(charged),
      note: held.length ? bound(held) : "no leases",
    });
    const spent = bill.spent.read(charged, serverNow());
    if (spent !== null) tiles.spent.update({ value: running(spent), note: "all leases so far" });
  }

  const row = h(
    "div",
    { class: "tiles" },
    Object.values(tiles).map(({ element }) => element),
    budget.element,
    caps.element,
  );
  fill(
    list,
    h("div", { class: "page-head" }, h("h1", {}, "Leases")),
    row,
    near.element,
    table.element,
    ended.element,
  );
  fill(main, list, detail);

  function show([id]) {
    one?.close();
    one = id
      ? leaseDetail(
          detail,
          id,
          context,
          () => holdings.byId.get(id) ?? null,
          () => micros(bill.lines.get(id)?.cost),
        )
      : null;
    list.hidden = Boolean(id);
    detail.hidden = !id;
    if (id) window.scrollTo(0, 0);
    return id;
  }

  return {
    show,
    close() {
      one?.close();
      holdings.close();
      asking.stop();
      [showEnded, askBill].forEach((act) => act.stop());
      budget.close();
      caps.close();
      stops.forEach((stop) => stop());
    },
  };
}

/** The leases by type: 12 h100, 4 a100. */
function trees(leases) {
  const counts = new Map();
  for (const { leaf } of leases) {
    const tree = leaf.split("/")[0];
    counts.set(tree, (counts.get(tree) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([tree, number]) => `${number} ${tree}`)
    .join(", ");
}

/** The worst charge before leases end. */
function bound(held) {
  const free = held.filter(({ limit }) => limit === null).length;
  if (free) return `unbounded: ${plural(free, "lease")} without a limit`;
  return `at most ${dollars(
    held.reduce((sum, { limit }) => sum + limit, 0),
    2,
  )}/h by your limits`;
}

/**
 * The card of leases near their limit, which one more bid may end. Returns {element, show(leases)}.
 */
function nearLimitCard(mayTrade) {
  const heading = h("h2", { id: "attention", role: "status" });
  const lines = h("ul");
  const more = h("p", { class: "soft small" });
  const all = smallButton("Raise all", () => raiseAll(near));
  const head = h("header", { class: "row" }, heading, all);
  const element = h(
    "section",
    { class: "attention", hidden: true, "aria-labelledby": "attention" },
    head,
    lines,
    more,
  );
  let near = [];

  return {
    element,
    show(leases) {
      near = leases.filter(isNear).sort((a, b) => headroom(a) - headroom(b));
      element.hidden = !near.length;
      setText(
        heading,
        near.length === 1
          ? "One lease is near its limit"
          : `${plural(near.length, "lease")} are near their limits`,
      );
      all.hidden = !mayTrade || near.length < 2;
      keyed(
        lines,
        near.slice(0, NEAR_SHOWN),
        ({ id }) => id,
        (lease) => nearRow(lease, mayTrade),
        updateNearRow,
      );
      more.hidden = near.length <= NEAR_SHOWN;
      setText(more, `and ${near.length - NEAR_SHOWN} more: sort the table by headroom`);
    },
  };
}

/** A row. Updates change only its texts, so that the button under the pointer stays. */
function nearRow(lease, mayTrade) {
  const says = h("span", {}, pathName(lease.leaf, lease.id), h("span"));
  const row = h(
    "li",
    { class: "row" },
    says,
    mayTrade ? smallButton("", () => raise(row.lease)) : null,
  );
  return row;
}

function updateNearRow(row, lease) {
  row.lease = lease;
  const [says, act] = row.children;
  setText(
    says.lastChild,
    ` is at ${rate(lease.rate)}, ${percent(Math.max(0, headroom(lease)), 1)} below its ` +
      `limit of ${rate(lease.limit)}`,
  );
  if (act) setText(act, `Raise limit to ${rate(raisedLimit(lease))}`);
}

async function raise(lease) {
  try {
    await setLimit(lease, raisedLimit(lease));
  } catch (problem) {
    toast(problem.message, "bad");
  }
}

/** All ended leases, newest first: {id, leaf, at, reason, rate, limit, started (ms or null)}. */
function endedLeases(feed) {
  const started = new Map();
  const ended = [];
  for (const { event } of knownEvents(feed)) {
    if (event.type === "lease.started") started.set(event.lease, ms(event.at));
    if (event.type === "lease.ended")
      ended.push({ ...event, id: event.lease, started: started.get(event.lease) ?? null });
  }
  return ended.reverse();
}

/**
 * The card of ended leases. Returns {element, show(feed, lines)}; `lines` maps IDs to lines of the
 * bill.
 */
function endedList() {
  let most = ENDED_SHOWN;
  let again = () => {};
  const table = new Table({
    caption: "Recently ended leases",
    columns: endedColumns(),
    key: ({ id }) => id,
    empty: "No lease has ended recently.",
  });
  const count = h("span", { class: "soft small" });
  const more = smallButton("Show more", () => ((most += ENDED_MORE), again()));
  const element = card(
    { id: "ended", title: "Ended recently", kind: "thirds", aside: [count, more] },
    table.element,
  );
  return {
    element,
    show(feed, lines) {
      again = () => this.show(feed, lines);
      const ended = endedLeases(feed);
      table.show(ended.slice(0, most).map((one) => ({ ...one, line: lines.get(one.id) ?? null })));
      setText(count, ended.length > most ? `${most} of ${plural(ended.length, "lease")}` : "");
      more.hidden = ended.length <= most;
    },
  };
}

function endedColumns() {
  return [
    { name: "GPU", update: updateName },
    { name: "Ended", update: updateEnd },
    { name: "Held for", num: true, value: heldFor },
    { name: "Reason", wide: true, update: updateReason },
    { name: "Cost", num: true, value: ({ line }) => (line ? exact(micros(line.cost)) : "–") },
  ];
}

/** The name of the GPU. It links to the lease if the bill has a line for it. */
function updateName(cell, one) {
  const known = String(Boolean(one.line));
  if (cell.dataset.known === known) return;
  cell.dataset.known = known;
  fill(cell, pathName(one.leaf, one.line ? one.id : null));
}

function updateEnd(cell, { at }) {
  setText(cell, when(at));
  cell.title = at;
}

function heldFor({ at, started, line }) {
  const start = started ?? (line ? ms(line.start) : null);
  return start === null ? "–" : lasted(ms(at) - start);
}

function updateReason(cell, one) {
  if (cell.firstChild) return;
  const lost = one.reason !== "relinquished";
  fill(
    cell,
    h("span", { class: `tag ${lost ? "bad" : ""}` }, reason(one.reason)),
    " ",
    h("span", { class: "small" }, explainEnd(one)),
  );
}
