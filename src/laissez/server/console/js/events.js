// The events page: a live list, newest first, with filters. It holds a few hundred rows at most.

import { all } from "./api.js";
import { button } from "./components.js";
import { toast } from "./dialogs.js";
import { h, keyed, setText } from "./dom.js";
import { NO_FILTER, REASONS, eventsHref, kindsFor, matcher, readFilter } from "./event-filter.js";
import { EventLog } from "./event-log.js";
import { eventRow } from "./event-text.js";
import { count, reason } from "./format.js";

const STEP = 100; // rows at first, and for each "Show older"
const ROWS_MOST = 300;
const NOTHING_YET = "No events yet. New events appear here by themselves.";
const NO_MATCH = "No event matches. Search further back, or clear the filter.";

export const events = {
  path: "events",
  name: "Events",
  mount(main, context) {
    const page = new EventsPage(context);
    main.append(...page.elements);
    return page;
  },
};

class EventsPage {
  constructor({ me, feed }) {
    this.isOperator = me.holder === "operator";
    this.filter = { ...NO_FILTER };
    this.upper = Infinity; // the highest number to show; finite while paused
    this.size = STEP;
    this.list = h("ol", { class: "events", "aria-label": "Events, newest first" });
    this.about = h("p", { class: "small soft" });
    this.nothing = h("p", { class: "empty", hidden: true });
    this.end = h("p", { class: "small soft" });
    const toggle = () => (this.isLive ? this.stopAt(this.log.last) : this.resume());
    this.pause = button("", toggle, "pause");
    this.more = button("Show older", () => this.showOlder());
    this.back = button("Back to the newest", () => this.resume(), "plain", { hidden: true });
    const older = h("div", { class: "row older" }, this.more, this.back, this.end);
    this.elements = [
      h("div", { class: "page-head" }, h("h1", {}, "Events"), this.pause),
      h(
        "section",
        { class: "card", "aria-label": "Events" },
        this.bar(),
        this.about,
        this.list,
        this.nothing,
        older,
      ),
    ];
    this.log = new EventLog(feed, () => this.draw());
  }

  bar() {
    const choice = (label, name, options) => {
      const act = () => this.choose({ [name]: select.value });
      const choices = options.map(([value, text]) => h("option", { value }, text));
      const select = h("select", { class: "input", "aria-label": label, onchange: act }, choices);
      return select;
    };
    this.kind = choice(
      "Kind",
      "kind",
      kindsFor(this.isOperator).map(({ value, name }) => [value, name]),
    );
    this.reason = choice("Reason for the end of a lease", "reason", [
      ["", "Any reason"],
      ...REASONS.map((code) => [code, `Ended: ${reason(code)}`]),
    ]);
    this.tenant = this.isOperator ? choice("Tenant", "tenant", [["", "All tenants"]]) : null;
    const hints = {
      placeholder: "Path or ID: h100/zone-a, lse_…",
      "aria-label": "Path of a node, or ID of an order or a lease",
    };
    this.text = h("input", {
      class: "input",
      type: "search",
      spellcheck: "false",
      oninput: () => this.choose({ text: this.text.value }),
      ...hints,
    });
    this.clear = button("Clear", () => this.choose(NO_FILTER), "plain");
    return h(
      "div",
      { class: "filters", role: "search" },
      this.text,
      this.kind,
      this.reason,
      this.tenant,
      this.clear,
    );
  }

  /** Show the filter that the URL names. */
  show(rest) {
    this.filter = readFilter(rest);
    this.size = STEP;
    this.searched = false;
    this.matches = matcher(this.filter);
    this.named ??= this.isOperator ? this.nameTenants() : null;
    this.addTenant(this.filter.tenant);
    for (const [name, value] of Object.entries(this.filter))
      if (this[name] && this[name].value !== value) this[name].value = value;
    this.clear.disabled = Object.values(this.filter).every((value) => !value);
    this.draw();
  }

  choose(change) {
    this.filter = { ...this.filter, ...change };
    history.replaceState(null, "", eventsHref(this.filter)); // no history entry per keystroke
    this.show(eventsHref(this.filter).split("/").slice(2).map(decodeURIComponent));
  }

  async nameTenants() {
    for (const { name } of await all("/v1/tenants").catch(() => [])) this.addTenant(name);
    this.tenant.value = this.filter.tenant;
  }

  addTenant(name) {
    if (name && this.tenant && ![...this.tenant.options].some(({ value }) => value === name))
      this.tenant.append(h("option", { value: name }, name));
  }

  draw() {
    // the paused view is no longer kept
    if (this.log.wasCut && this.upper < this.log.first) this.upper = Infinity;
    const rows = this.log.newest(this.matches, this.upper, this.size + 1);
    this.hasMore = rows.length > this.size;
    this.rows = rows.slice(0, this.size);
    keyed(
      this.list,
      this.rows,
      ({ n }) => n,
      (entry) => eventRow(entry, this.isOperator),
    );
    this.updateState();
  }

  updateState() {
    const { log } = this;
    const fresh = this.isLive ? 0 : log.countAfter(this.upper, this.matches);
    setText(this.pause, this.isLive ? "Pause" : fresh ? `Resume · ${count(fresh)} new` : "Resume");
    this.pause.classList.toggle("primary", !this.isLive);
    this.pause.disabled = !log.events.length;
    setText(this.about, this.range());
    this.nothing.hidden = this.rows.length > 0;
    setText(this.nothing, this.clear.disabled ? NOTHING_YET : NO_MATCH);
    const mayBeMore = this.hasMore || (log.isEndless && log.first > 1);
    this.more.hidden = !log.events.length || !mayBeMore;
    this.back.hidden = this.isLive;
    setText(this.end, this.ending(mayBeMore));
  }

  ending(mayBeMore) {
    if (!this.log.events.length) return "";
    if (mayBeMore)
      return this.searched ? `No more matches back to event ${count(this.log.first)}.` : "";
    return this.log.first === 1 ? "These are all events." : "Older events are no longer kept.";
  }

  /** The range of known events, and whether any is missing. */
  range() {
    const { log } = this;
    const cut = log.wasCut
      ? "You were disconnected for longer than events are kept, so the list starts again. "
      : "";
    if (!log.events.length) return cut || "\u00a0";
    const whole = log.missing ? `${count(log.missing)} missing: reload the page` : "none missing";
    const matching = this.clear.disabled
      ? ""
      : `, ${count(log.countAfter(-1, this.matches))} matching`;
    const state = this.isLive ? "Live." : `Paused at event ${count(this.upper)}.`;
    return `${cut}Events ${count(log.first)} to ${count(log.last)}, ${whole}${matching}. ${state}`;
  }

  get isLive() {
    return this.upper === Infinity;
  }

  stopAt(n) {
    this.upper = n;
    this.draw();
  }

  resume() {
    this.upper = Infinity;
    this.size = STEP;
    this.draw();
    window.scrollTo({ top: 0 });
  }

  async showOlder() {
    if (this.isAsking) return; // disabling the button would take its focus away
    this.isAsking = true;
    try {
      this.searched = !this.hasMore && !(await this.log.older(this.matches));
      if (this.rows.length === this.size && !this.searched) this.extend();
    } catch (problem) {
      toast(problem.message, "bad");
    }
    this.isAsking = false;
    this.draw();
  }

  /** Show more rows. Once the page is full, drop the newest ones, which pauses the list. */
  extend() {
    if (this.size < ROWS_MOST) this.size += STEP;
    else this.upper = this.rows[STEP].n;
  }

  close() {
    this.log.close();
  }
}
