// The events page.

import { all } from "./api.js";
import { toast } from "./dialogs.js";
import { h, keyed, setText } from "./dom.js";
import { NO_FILTER, REASONS, eventsHref, kindsFor, matcher, readFilter } from "./event-filter.js";
import { EventLog } from "./event-log.js";
import { eventRow } from "./event-text.js";
import { count, plural, reason } from "./format.js";

const STEP = 100; // rows at first, and rows more for each "Show older"
const ROWS_MOST = 300;
const NOTHING_YET = "Nothing has happened yet. What happens appears here by itself.";
const NO_MATCH = "No event here matches. Search further back, or clear the filter.";

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
    this.upper = Infinity; // the newest number to be shown; less than infinite while paused
    this.size = STEP;
    this.list = h("ol", { class: "events", "aria-label": "Events, newest first" });
    this.about = h("p", { class: "small soft" });
    this.nothing = h("p", { class: "empty", hidden: true });
    this.end = h("p", { class: "small soft" });
    this.pause = h("button", {
      class: "button pause",
      type: "button",
      onclick: () => (this.isLive ? this.stopAt(this.log.last) : this.resume()),
    });
    this.more = h(
      "button",
      { class: "button", type: "button", onclick: () => this.showOlder() },
      "Show older",
    );
    this.back = h(
      "button",
      { class: "button plain", type: "button", hidden: true, onclick: () => this.resume() },
      "Back to the newest",
    );
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
    this.reason = choice("Why a lease ended", "reason", [
      ["", "Any reason"],
      ...REASONS.map((code) => [code, `Ended: ${reason(code)}`]),
    ]);
    this.tenant = this.isOperator ? choice("Tenant", "tenant", [["", "All tenants"]]) : null;
    const hints = {
      placeholder: "Path or id: h100/zone-a, lse_…",
      "aria-label": "Path or id of a leaf, an order or a lease",
    };
    this.text = h("input", {
      class: "input",
      type: "search",
      spellcheck: "false",
      oninput: () => this.choose({ text: this.text.value }),
      ...hints,
    });
    this.clear = h(
      "button",
      { class: "button plain", type: "button", onclick: () => this.choose(NO_FILTER) },
      "Clear",
    );
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

  /** The filter that the address names is the one in force. */
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
    history.replaceState(null, "", eventsHref(this.filter)); // no step back for each letter
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
    if (this.log.wasCut && this.upper < this.log.first) this.upper = Infinity; // what was being looked at is gone
    const rows = this.log.newest(this.matches, this.upper, this.size + 1);
    this.hasMore = rows.length > this.size;
    this.rows = rows.slice(0, this.size);
    keyed(
      this.list,
      this.rows,
      ({ n }) => n,
      (told) => eventRow(told, this.isOperator),
    );
    this.sayState();
  }

  sayState() {
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
      return this.searched
        ? `Searched back to event ${count(this.log.first)}: nothing more that matches.`
        : "";
    return this.log.first === 1
      ? "This is where the events begin."
      : "Older events are no longer kept.";
  }

  /** What is at hand, and that nothing of it is missing. */
  range() {
    const { log } = this;
    const cut = log.wasCut ? "You were away for longer than events are kept: it begins anew. " : "";
    if (!log.events.length) return cut || "\u00a0";
    const whole = log.missing
      ? `${plural(log.missing, "number")} between them missing: load the page again`
      : "none missing";
    const matching = this.clear.disabled
      ? ""
      : `, ${count(log.countAfter(-1, this.matches))} of them match`;
    const state = this.isLive ? "Live." : `Paused at ${count(this.upper)}.`;
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
    if (this.isAsking) return; // the button is left as it is: it has the focus
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

  /** More rows; once there are as many as the page may hold, the newest leave it, which pauses it. */
  extend() {
    if (this.size < ROWS_MOST) this.size += STEP;
    else this.upper = this.rows[STEP].n;
  }

  close() {
    this.log.close();
  }
}
