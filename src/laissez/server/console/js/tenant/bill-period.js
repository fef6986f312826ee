// period

import { serverNow } from "../api.js";
import { field, segments } from "../components.js";
import { fill, h } from "../dom.js";
import { moment } from "../format.js";
import { href } from "../router.js";

const HOUR_MS = 3_600_000;
const CHOICES = [
  ["hour", "This hour"],
  ["today", "Today"],
  ["day", "Last 24 h"],
  ["all", "All"],
  ["own", "Other"],
];
const OFFERED = [
  [
    /billed as one/,
    "The books are closed there: what is billed as one cannot be cut in two. Whole hours always work; so do these:",
  ],
  [/which is now/, "This period is not over yet. The latest that can be billed:"],
];
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

const wholeHour = (ms) => Math.floor(ms / HOUR_MS) * HOUR_MS;

/** {since, until} as the API takes them. Whole hours cut nothing in two, whatever the books have closed. */
export function bounds({ name, since, until }) {
  const now = serverNow();
  if (name === "hour") return { since: iso(wholeHour(now)) };
  if (name === "today") return { since: iso(wholeHour(new Date(now).setHours(0, 0, 0, 0))) };
  if (name === "day") return { since: iso(wholeHour(now - 24 * HOUR_MS)) };
  if (name === "own") return { since: since || undefined, until: until || undefined };
  return {};
}

/** What the address says: #/bill/day, #/bill/own/<since>/<until>. */
export function readPeriod([name, since = "", until = ""]) {
  if (!CHOICES.some(([known]) => known === name)) return { name: "all", since: "", until: "" };
  return { name, since, until };
}

function periodHref({ name, since = "", until = "" }) {
  return name === "own"
    ? `#/bill/own/${encodeURIComponent(since)}/${encodeURIComponent(until)}`
    : href("bill", name);
}

/** Gives {element, show(period, problem)}. */
export function periodChooser() {
  const row = h("div", { class: "row" });
  const since = field("From", { type: "datetime-local", step: "1" });
  const until = field("Until", { type: "datetime-local", step: "1" });
  const go = h("button", { type: "submit", class: "button" }, "Show");
  const form = h(
    "form",
    { class: "own", hidden: true, onsubmit: submit },
    since.element,
    until.element,
    go,
  );
  const trouble = h("div", { class: "problem", role: "alert", hidden: true });
  let shown = null;

  function submit(event) {
    event.preventDefault();
    location.hash = periodHref({ name: "own", since: asked(since), until: asked(until) });
  }

  return {
    element: h("div", { class: "stack tight" }, row, form, trouble),
    show(period, problem = null) {
      trouble.hidden = !problem;
      if (problem) fill(trouble, explained(problem, period));
      if (period === shown) return; // leave alone what is being typed, and what has the focus
      shown = period;
      fill(
        row,
        segments(
          "Period",
          CHOICES,
          period.name,
          (name) => (location.hash = periodHref({ ...period, name })),
        ),
      );
      form.hidden = period.name !== "own";
      since.input.value = local(period.since);
      until.input.value = local(period.until);
    },
  };
}

/** A period that cuts what is billed as one: offer the times that the answer names. */
function explained(problem, period) {
  const reason = OFFERED.find(([pattern]) => pattern.test(problem.message));
  if (!reason) return problem.message;
  const times = problem.message.match(TIME) ?? [];
  const wrong = times.pop(); // the last one is what was asked for
  const which = wrong && Date.parse(wrong) === Date.parse(period.until || 0) ? "until" : "since";
  const word = which === "until" ? "Until" : "From";
  const offers = times.map((time) =>
    h(
      "a",
      { class: "button small", href: periodHref({ ...period, [which]: time }) },
      `${word} ${moment(time)}`,
    ),
  );
  return [h("p", {}, reason[1]), h("div", { class: "row" }, offers)];
}

function asked({ input }) {
  return input.value ? iso(new Date(input.value).getTime()) : "";
}

function local(text) {
  const time = Date.parse(text);
  if (!Number.isFinite(time)) return "";
  return new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function iso(time) {
  return new Date(time).toISOString();
}
