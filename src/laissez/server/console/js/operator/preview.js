// preview

import { change } from "../api.js";
import { ask } from "../dialogs.js";
import { fill, h } from "../dom.js";
import { describe } from "../event-text.js";
import { count, dollars, micros, perHour, plural, reason } from "../format.js";

const CALM_MS = 250; // after the last key
const AGAIN_MS = 5000; // the market goes on meanwhile

/**
 * Ask for confirmation. `commands()` gives what would be done, or null while the fields cannot be understood; `label()` names it; `leases` is how
 * many there are at the node; `act(commands)` does it. `body` comes above the preview. Gives a promise of whether it was done.
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
      return show(
        null,
        h("p", { class: "soft" }, "Fill in what should be set to see what would happen."),
      );
    try {
      const found = await change("POST", "/v1/preview", { commands: wanted });
      if (turn === asked && isOpen) show(found, told(found, leases, wanted.length));
    } catch (problem) {
      if (turn === asked && isOpen)
        show(
          null,
          h("p", { class: "problem" }, `What would happen is not known: ${problem.message}`),
        );
    }
    if (turn === asked && isOpen) timer = setTimeout(preview, AGAIN_MS);
  }

  function show(found, content) {
    const isValid = found !== null && found.refused.length < commands().length;
    const opened = said.querySelector("details")?.open;
    const before = said.textContent;
    const made = h("div", {}, content);
    if (made.textContent !== before) fill(said, [...made.childNodes]); // what is the same is not read out again
    if (opened && said.querySelector("details")) said.querySelector("details").open = true;
    button.disabled = !isValid;
    button.classList.toggle("danger", isValid && found.leases_ended > 0);
    fill(button, label());
  }

  function typed() {
    asked++; // whatever is on its way is about something else
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

/** A preview in words. */
function told(found, leases, commands) {
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
    ? `, ${transfers === ended ? "and" : `${count(transfers)} of them`} ${transfers === 1 ? "goes to another tenant" : "go to other tenants"}`
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
    idleAfter > idle && `${plural(idleAfter - idle, "more leaf", "more leaves")} would be idle`,
    idleAfter < idle && `${plural(idle - idleAfter, "fewer leaf", "fewer leaves")} would be idle`,
    started > 0 && `${plural(started, "lease")} would start`,
    before === after
      ? "charges stay at " + rough(before)
      : `charges go from ${rough(before)} to ${rough(after)}`,
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
    h("summary", {}, `Which ${all === 1 ? "lease" : "leases"}`),
    h("ul", { class: "ended-list" }, ended.map(line), more),
  );
}

/** `first` is said in any case; then how many leases ended and began because of it. */
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

/** The same for one event that says it all, such as `floor.set`. */
export function resultOfEvent(type, otherwise, events) {
  const told = events.find(({ event }) => event.type === type);
  return resultText(told ? describe(told.event) : otherwise, events);
}
