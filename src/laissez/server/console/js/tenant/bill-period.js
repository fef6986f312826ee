// The period of a bill: a few presets that always work, or a custom one.

import { serverNow } from "../api.js";
import { field, segments } from "../components.js";
import { fill, h } from "../dom.js";
import { HOUR_MS, moment } from "../format.js";
import { href } from "../router.js";

const CHOICES = [
  ["hour", "This hour"],
  ["today", "Today"],
  ["day", "Last 24 h"],
  ["all", "All"],
  ["own", "Custom"],
];
const OFFERED = [
  [
    /billed as one/,
    "The books of this time are closed, so the period cannot begin or end there. Whole " +
      "hours always work, and so do these times:",
  ],
  [/which is now/, "This period has not ended yet. The latest possible end:"],
];
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

const wholeHour = (ms) => Math.floor(ms / HOUR_MS) * HOUR_MS;

/** {since, until} for the API. Whole hours never split an entry of closed books. */
export function bounds({ name, since, until }) {
  const now = serverNow();
  if (name === "hour") return { since: iso(wholeHour(now)) };
  if (name === "today") return { since: iso(wholeHour(new Date(now).setHours(0, 0, 0, 0))) };
  if (name === "day") return { since: iso(wholeHour(now - 24 * HOUR_MS)) };
  if (name === "own") return { since: since || undefined, until: until || undefined };
  return {};
}

/** Parse the period from the URL: #/bill/day, #/bill/own/<since>/<until>. */
export function readPeriod([name, since = "", until = ""]) {
  if (!CHOICES.some(([known]) => known === name)) return { name: "all", since: "", until: "" };
  return { name, since, until };
}

function periodHref({ name, since = "", until = "" }) {
  return name === "own"
    ? `#/bill/own/${encodeURIComponent(since)}/${encodeURIComponent(until)}`
    : href("bill", name);
}

/** The control that chooses a period. Returns {element, show(period, problem)}. */
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
      if (period === shown) return; // keep the user's input and focus
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

/** Explain a refused period, and offer the times that the refusal names. */
function explained(problem, period) {
  const reason = OFFERED.find(([pattern]) => pattern.test(problem.message));
  if (!reason) return problem.message;
  const times = problem.message.match(TIME) ?? [];
  const wrong = times.pop(); // the last time is the requested one
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
