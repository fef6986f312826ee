// Dialogs that preview the effect of commands, and sentences about the result.

import { change } from "../api.js";
import { ask } from "../dialogs.js";
import { fill, h } from "../dom.js";
import { describe } from "../event-text.js";
import { count, dollars, micros, perHour, plural, reason } from "../format.js";

const CALM_MS = 250; // after the last keystroke
const AGAIN_MS = 5000; // the market moves meanwhile

/**
 * Open a dialog that previews commands on a copy of the market before the user confirms.
 * `commands()` returns the commands, or null while the fields are invalid; `label()` is the text of
 * the confirm button; `leases` counts the leases at the node; `act(commands)` carries them out.
 * `body` comes above the preview. Returns a promise of whether they were carried out.
 */
export function askWithPreview({ title, body = null, commands, label, leases, act, inputs = [] }) {
  const said = h(
    "div",
    { class: "preview", role: "status", "aria-live": "polite" },
    h("p", { class: "soft" }, "…"),
  );
  let [button, timer, asked, isOpen] = [null, null, 0, true];

  async function preview() {
    clearTimeout(timer);
    const wanted = commands();
    const turn = ++asked;
    if (!wanted)
      return show(null, h("p", { class: "soft" }, "Fill in the fields to preview the effect."));
    try {
      const found = await change("POST", "/v1/preview", { commands: wanted });
      if (turn === asked && isOpen) show(found, previewText(found, leases, wanted.length));
    } catch (problem) {
      if (turn === asked && isOpen)
        show(null, h("p", { class: "problem" }, `The preview failed: ${problem.message}`));
    }
    if (turn === asked && isOpen) timer = setTimeout(preview, AGAIN_MS);
  }

  function show(found, content) {
    const isValid = found !== null && found.refused.length < commands().length;
    const opened = said.querySelector("details")?.open;
    const before = said.textContent;
    const made = h("div", {}, content);
    // screen readers would read the same text again
    if (made.textContent !== before) fill(said, [...made.childNodes]);
    if (opened && said.querySelector("details")) said.querySelector("details").open = true;
    button.disabled = !isValid;
    button.classList.toggle("danger", isValid && found.leases_ended > 0);
    fill(button, label());
  }

  function typed() {
    asked++; // drop the answer of a preview in flight
    button.disabled = true;
    clearTimeout(timer);
    timer = setTimeout(preview, CALM_MS);
  }

  for (const input of inputs) input.addEventListener("input", typed);
  const answer = ask({
    title,
    body: [body, said],
    confirm: label(),
    act: () => act(commands()),
    ready(yes) {
      button = yes;
      button.disabled = true;
      preview();
    },
  });
  return answer.finally(() => {
    isOpen = false;
    clearTimeout(timer);
  });
}

/** A preview as text. */
function previewText(found, leases, commands) {
  const refused = found.refused.length;
  const many = commands === 1 ? "This" : `${count(refused)} of ${count(commands)}`;
  const problems = refused
    ? h("p", { class: "problem" }, `${many} would be refused: ${found.refused[0].detail}`)
    : null;
  if (refused === commands) return problems;
  const first = h(
    "p",
    { class: found.leases_ended ? "warn" : "" },
    h("b", {}, leasesEnded(found, leases)),
  );
  return [problems, first, h("p", {}, others(found)), listed(found)];
}

function leasesEnded({ leases_ended: ended, transfers, tenants }, leases) {
  if (!ended) return "No lease would end.";
  const losers = tenants
    .filter(({ lost }) => lost)
    .map(({ tenant, lost }) => `${tenant} ${count(lost)}`);
  const moved = transfers
    ? `, ${transfers === ended ? "and" : `${count(transfers)} of them`} ` +
      `${transfers === 1 ? "goes to another tenant" : "go to other tenants"}`
    : "";
  return `${count(ended)} of ${plural(leases, "lease")} would end (${losers.join(", ")})${moved}.`;
}

function others({
  leases_started: started,
  rate_before: before,
  rate_after: after,
  dearer,
  cheaper,
  idle_before: idle,
  idle_after: idleAfter,
}) {
  const parts = [
    idleAfter > idle && `${plural(idleAfter - idle, "more GPU")} would be idle`,
    idleAfter < idle && `${plural(idle - idleAfter, "fewer GPU")} would be idle`,
    started > 0 && `${plural(started, "lease")} would start`,
    before === after
      ? "total charges stay at " + rough(before)
      : `total charges change from ${rough(before)} to ${rough(after)}`,
    dearer > 0 && `${plural(dearer, "lease")} would pay more`,
    cheaper > 0 && `${plural(cheaper, "lease")} would pay less`,
  ].filter(Boolean);
  const text = parts.join("; ");
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function rough(text) {
  return perHour(Math.round(micros(text) / 10_000) * 10_000);
}

function listed({ ended, leases_ended: all }) {
  if (!ended.length) return null;
  const prices = ({ rate, limit }) =>
    `rate ${dollars(micros(rate))}, limit ${limit === null ? "none" : dollars(micros(limit))}`;
  const line = (one) =>
    h("li", {}, h("b", {}, one.leaf), ` ${one.tenant}, ${reason(one.reason)}: ${prices(one)}`);
  const more =
    all > ended.length ? h("li", { class: "soft" }, `and ${count(all - ended.length)} more`) : null;
  return h(
    "details",
    {},
    h("summary", {}, `Show ${all === 1 ? "the lease" : "the leases"}`),
    h("ul", { class: "ended-list" }, ended.map(line), more),
  );
}

/** A sentence about the result of commands: `first`, then how many leases ended and started. */
export function resultText(first, events) {
  const number = (type) => events.filter(({ event }) => event.type === type).length;
  const [ended, started] = [number("lease.ended"), number("lease.started")];
  const effects = [
    ended && `${plural(ended, "lease")} ended`,
    started && `${count(started)} started`,
  ]
    .filter(Boolean)
    .join(", ");
  return effects ? `${first}. ${effects[0].toUpperCase()}${effects.slice(1)}.` : `${first}.`;
}

/** The same, beginning with the description of the event of a type, such as `floor.set`. */
export function resultOfEvent(type, otherwise, events) {
  const found = events.find(({ event }) => event.type === type);
  return resultText(found ? describe(found.event) : otherwise, events);
}
