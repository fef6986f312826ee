// One lease: what it was charged and why, and what it would take to have others around it.

import { at, get, serverNow } from "../api.js";
import { fill, h, say } from "../dom.js";
import { why } from "../eventwords.js";
import { clock, duration, micros, percent, reason } from "../format.js";
import { poll } from "../poll.js";
import { chargeChart, pieceTable } from "./chargechart.js";
import { exact, ms, rate, running, when } from "./figures.js";
import { costAt, headroom, isHeld } from "./holdings.js";
import { askLimit, limitText, relinquish } from "./limits.js";
import { card, everySecond, paced, pathName } from "./parts.js";
import { findEnd, pastEvents } from "./past.js";
import { piecesOf } from "./steps.js";

const EVERY_MS = 10_000;
const SOONEST_MS = 2000;
const OVER_MS = 5000; // what was charged last so long ago has ended

/**
 * Show a lease in `element`. `lease()` gives what is held now, if it is; `billed()` what the bill has for it, in
 * micro-dollars: the pieces are rounded down one by one. Gives {close()}.
 */
export function leaseDetail(element, id, context, lease, billed) {
  const { feed, mayTrade } = context;
  const title = h("h1", {}, id);
  const actions = h("div", { class: "row" });
  const facts = h("dl", { class: "facts" });
  const about = h("p", { class: "notice", hidden: true });
  const chart = chargeChart("What the lease was charged over time");
  const total = h("span", { class: "soft" });
  const table = pieceTable();
  const around = h("div", { class: "around" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const charges = card(
    {
      id: "charges",
      title: "Charged over time: the area is the cost",
      kind: "charges",
      aside: total,
    },
    chart.element,
  );
  const quotes = card({ id: "around", title: "What a leaf around it takes now" }, around);
  let pieces = [];
  let leaf = null;
  let live = null;
  let end; // the event, if it is further back than what the feed has; null: it is gone

  const asking = poll(async () => {
    try {
      const history = await get(`${at("/v1/leases", id)}/prices`);
      pieces = piecesOf(history);
      leaf = history.leaf;
    } catch (error) {
      if (error.status !== 404) throw error;
      fill(problem, "The books no longer know this lease, or it was never yours.");
      problem.hidden = false;
      charges.hidden = quotes.hidden = table.element.hidden = true;
      asking.stop();
      return;
    }
    draw();
    table.show(pieces, Boolean(lease()));
    tick();
    if (lease()) await askAround();
    else await lookForEnd();
  }, EVERY_MS);
  const soon = paced(asking.now, SOONEST_MS);
  const stopHearing = feed.on(({ event }) => event.lease === id && soon());
  const stopTicking = everySecond(tick);

  async function askAround() {
    const { data } = await get("/v1/prices", { limit: 1000 });
    const own = data.filter(({ scope }) => leaf.startsWith(`${scope}/`));
    const told = (price) => (price === null ? "nothing to be had" : rate(micros(price)));
    fill(
      around,
      own.map(({ scope, price }) =>
        h("div", {}, pathName(scope), h("b", { class: "num" }, told(price))),
      ),
    );
  }

  async function lookForEnd() {
    const last = pieces.at(-1)?.end ?? Infinity;
    if (end !== undefined || endOf(feed, id) || serverNow() - last < OVER_MS) return;
    end = await findEnd(feed, id, last);
    tick();
  }

  function draw() {
    const ends = pieces.at(-1)?.end ?? serverNow();
    chart.draw({
      pieces,
      limits: limitsOf(feed, id, lease(), pieces[0]?.start ?? ends),
      until: lease() ? Math.max(ends, serverNow()) : ends,
    });
  }

  function tick() {
    const now = lease();
    if (Boolean(now) !== Boolean(live)) buttons(now);
    live = now;
    if (!leaf) return;
    fill(title, pathName(leaf));
    const ended = now ? null : (endOf(feed, id) ?? end);
    const paid = billed() ?? sum(pieces);
    sayFacts(facts, now ? factsNow(now) : factsThen(pieces, ended, paid));
    quotes.hidden = !now;
    about.hidden = !ended;
    if (ended) say(about, `Ended ${when(ended.at)}, ${reason(ended.reason)}: ${why(ended)}.`);
    say(total, `${exact(now ? costAt(now, serverNow()) : paid)} ${now ? "so far" : "in all"}`);
  }

  function buttons(now) {
    if (!now || !mayTrade) return fill(actions);
    return fill(
      actions,
      h(
        "button",
        { type: "button", class: "button", onclick: () => askLimit([lease()]) },
        "Set limit",
      ),
      h(
        "button",
        { type: "button", class: "button danger", onclick: () => relinquish([lease()]) },
        "Relinquish",
      ),
    );
  }

  const back = h("a", { href: "#/leases" }, "← All leases");
  const head = h("div", { class: "page-head" }, title, actions);
  fill(
    element,
    back,
    head,
    problem,
    about,
    h("section", { class: "card", "aria-label": "The lease" }, facts),
    charges,
    quotes,
    table.element,
  );
  tick();
  return {
    close() {
      asking.stop();
      soon.stop();
      stopHearing();
      stopTicking();
    },
  };
}

function sum(pieces) {
  return pieces.reduce((total, piece) => total + piece.cost, 0);
}

function factsNow(lease) {
  const now = serverNow();
  const left = headroom(lease);
  return [
    [
      "Rate now",
      rate(lease.rate),
      lease.charged === lease.rate ? "" : `charged ${rate(lease.charged)} while held`,
    ],
    [
      "Limit",
      limitText(lease.limit),
      left === null ? "kept whatever the price" : `${percent(Math.max(0, left))} headroom`,
    ],
    ["Cost so far", running(costAt(lease, now)), ""],
    ["Held for", duration(now - lease.started), `since ${when(lease.started)}`],
    [
      "Hold",
      isHeld(lease, now) ? `until ${clock(lease.hold)}` : "none",
      isHeld(lease, now) ? "cannot be lost for price" : "",
    ],
    ["Lease", "", lease.id],
  ];
}

function factsThen(pieces, ended, paid) {
  const [first, last] = [pieces[0], pieces.at(-1)];
  if (!first) return [];
  return [
    ["Cost in all", exact(paid), ""],
    ["Held for", duration(last.end - first.start), ""],
    ["From", when(first.start), ""],
    ["Until", when(last.end), ""],
    ...(ended
      ? [
          ["Rate at the end", rate(micros(ended.rate)), ""],
          ["Limit at the end", limitText(micros(ended.limit)), ""],
        ]
      : []),
  ];
}

/** Facts in place: only texts that differ are set. */
function sayFacts(list, facts) {
  if (list.children.length !== facts.length)
    fill(
      list,
      facts.map(() => h("div", {}, h("dt"), h("dd", {}, h("span"), h("small")))),
    );
  facts.forEach(([name, value, note], i) => {
    const [term, text] = list.children[i].children;
    say(term, name);
    say(text.children[0], value);
    say(text.children[1], note);
  });
}

function endOf(feed, id) {
  return (
    pastEvents(feed).find(({ event }) => event.type === "lease.ended" && event.lease === id)
      ?.event ?? null
  );
}

/** Its limit over time, as far back as events are known: [[ms, limit or null]]. */
function limitsOf(feed, id, lease, start) {
  const told = pastEvents(feed);
  const setting = told.filter(
    ({ event }) => event.lease === id && event.limit !== undefined && event.type !== "lease.ended",
  );
  const own = setting.map(({ event }) => [ms(event.at), micros(event.limit)]);
  const ended = endOf(feed, id);
  const now = lease ? lease.limit : ended ? micros(ended.limit) : undefined;
  if (now === undefined) return own;
  if (!own.length) return [[Math.max(start, ms(told[0]?.event.at) ?? start), now]];
  return own;
}
