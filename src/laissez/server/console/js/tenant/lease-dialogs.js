// Dialogs that set limits and relinquish leases. Dangerous changes need a confirmation.

import { at, change, serverNow } from "../api.js";
import { field } from "../components.js";
import { ask, toast } from "../dialogs.js";
import { h } from "../dom.js";
import { MICROS, cost, decimal, dollars, duration, plural, rate, readMoney } from "../format.js";
import { sendAndShow } from "./batch.js";
import { costAt, isHeld } from "./holdings.js";

const RAISE = 1.25;
const CENT = 10_000;
const MOST = 10_000 * MICROS;

/** Parse a typed limit as micro-dollars; null for no limit. */
export function readLimit(text) {
  return /^\s*(none|)\s*$/i.test(text) ? null : readMoney(text);
}

/** A limit with all digits: a limit rounded up would be wrong. */
export function limitText(limit) {
  return limit === null ? "none" : `${dollars(limit, 6)}/h`;
}

/** A limit a quarter above the current rate, in whole cents. */
export function raisedLimit(lease) {
  return Math.min(MOST, Math.ceil((lease.rate * RAISE) / CENT) * CENT);
}

/**
 * Set a limit. Asks first if that would end the lease or remove its limit. Returns whether the
 * limit was set.
 */
export async function setLimit(lease, limit) {
  const risk = risks([lease], limit);
  const act = () => changeLimit(lease, limit);
  if (risk) {
    const { title, text, confirm } = risk;
    return ask({ title, body: h("p", {}, text), confirm, danger: true, act });
  }
  await act();
  return true;
}

async function changeLimit({ id, leaf }, limit) {
  const body = { limit: limit === null ? null : decimal(limit) };
  const { state } = await change("PATCH", at("/v1/leases", id), body);
  toast(state === "ended" ? `${leaf} has ended.` : `${leaf}: limit ${limitText(limit)}.`);
}

function limitCommand({ id, leaf }, limit) {
  const written = limit === null ? null : decimal(limit);
  return { name: leaf, command: { type: "set_limit", lease: id, limit: written } };
}

/** The warning to show before setting a limit, or null. */
function risks(leases, limit) {
  const isOne = leases.length === 1;
  if (limit === null) {
    const now = leases.reduce((sum, lease) => sum + lease.charged, 0);
    return {
      title: `Keep ${isOne ? "this lease" : `${leases.length} leases`} at any price?`,
      text:
        "Without a limit nobody can outbid you, and you pay whatever others bid, up to " +
        `$10,000 per hour for each lease. You pay ${rate(now)} now.`,
      confirm: "No limit",
    };
  }
  const below = leases.filter((lease) => limit < lease.rate);
  if (!below.length) return null;
  const held = below.filter((lease) => isHeld(lease, serverNow())).length;
  const later = below.length === 1 ? "when its hold ends" : "when their holds end";
  const when = !held ? "at once" : held === below.length ? later : `at once, or ${later}`;
  const effect =
    below.length === 1
      ? `the rate now, ${rate(below[0].rate)}: the lease ends`
      : `the rates of ${below.length} of ${leases.length} leases: they end`;
  return {
    title: isOne ? "This ends the lease" : `This ends ${plural(below.length, "lease")}`,
    text: `A limit of ${limitText(limit)} is below ${effect} ${when}.`,
    confirm: isOne ? "End the lease" : "Set the limit and end leases",
  };
}

/** Open the dialog that sets the limit of one or more leases. */
export function askLimit(leases, done) {
  const one = leases.length === 1 ? leases[0] : null;
  const before = one && one.limit !== null ? decimal(one.limit) : "";
  const hint = "The most that you pay. Leave empty for no limit: you keep the GPU at any price.";
  const typed = field("Limit, dollars per hour", { value: before, inputmode: "decimal" }, hint);
  const warning = h("p", { class: "notice", role: "status", hidden: true });
  let send;
  let warned; // the button's text
  typed.input.addEventListener("input", warn);

  function warn() {
    typed.error("");
    let risk = null;
    try {
      risk = typed.input.value.trim()
        ? risks(leases, readLimit(typed.input.value))
        : risks(leases, null);
    } catch {
      // Input errors are shown on submit.
    }
    warning.hidden = !risk;
    warned = send.textContent = risk ? risk.confirm : "Set limit";
    send.classList.toggle("danger", Boolean(risk));
    if (risk) warning.textContent = risk.text;
  }

  async function act() {
    const limit = readLimit(typed.input.value);
    if ((risks(leases, limit)?.confirm ?? "Set limit") !== warned) {
      warn();
      throw new Error(
        "The price has moved since you typed. Nothing was changed: check the limit again.",
      );
    }
    if (one) await changeLimit(one, limit);
    else await sendAndShow(leases.map((lease) => limitCommand(lease, limit)));
    done?.();
  }

  const title = one ? "Set the limit" : `Set the limit of ${leases.length} leases`;
  const now = one ? h("p", { class: "soft" }, `${one.leaf} is at ${rate(one.rate)} now.`) : null;
  return ask({
    title,
    body: [now, typed.element, warning],
    confirm: "Set limit",
    act,
    ready: (button) => ((send = button), warn()),
  });
}

/** Relinquish leases, after a dialog that says which leases end and what they have cost. */
export function relinquish(leases, done) {
  const now = serverNow();
  const spent = leases.reduce((sum, lease) => sum + costAt(lease, now), 0);
  const one = leases.length === 1 ? leases[0] : null;
  const held = one
    ? `You have held this GPU for ${duration(now - one.started)}; the lease has cost ` +
      `${cost(spent)}.`
    : `Together they have cost ${cost(spent)}.`;

  async function act() {
    if (one) {
      await change("DELETE", at("/v1/leases", one.id));
      toast(`${one.leaf} relinquished.`);
    } else {
      const command = (lease) => ({ type: "relinquish", lease });
      await sendAndShow(leases.map(({ id, leaf }) => ({ name: leaf, command: command(id) })));
    }
    done?.();
  }

  const title = one ? `Relinquish ${one.leaf}?` : `Relinquish ${leases.length} leases?`;
  const body = h(
    "p",
    {},
    `${one ? "The lease ends" : "The leases end"} at once, whatever still runs there, ` +
      `and nothing more is charged. ${held}`,
  );
  return ask({
    title,
    body,
    confirm: one ? "Relinquish" : `Relinquish ${leases.length}`,
    danger: true,
    act,
  });
}

/**
 * Raise the limits of several leases, each to a quarter above its rate, after a dialog that states
 * the worst cost.
 */
export function raiseAll(leases) {
  const before = leases.reduce((sum, { limit }) => sum + limit, 0);
  const after = leases.reduce((sum, lease) => sum + raisedLimit(lease), 0);
  const commands = leases.map((lease) => limitCommand(lease, raisedLimit(lease)));
  const text =
    "Every limit rises to a quarter above the rate now. The worst case for all together " +
    `rises from ${limitText(before)} to ${limitText(after)}.`;
  return ask({
    title: `Raise ${plural(leases.length, "limit")}?`,
    body: h("p", {}, text),
    confirm: "Raise all",
    act: () => sendAndShow(commands),
  });
}
