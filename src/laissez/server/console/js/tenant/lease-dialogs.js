// Dialogs

import { at, change, serverNow } from "../api.js";
import { field } from "../components.js";
import { ask, toast } from "../dialogs.js";
import { h } from "../dom.js";
import { MICROS, cost, decimal, dollars, duration, plural, rate, readMoney } from "../format.js";
import { sendAll, showOutcomes } from "./batch.js";
import { costAt, isHeld } from "./holdings.js";

const RAISE = 1.25;
const CENT = 10_000;
const MOST = 10_000 * MICROS;

/** Micro-dollars of a typed limit, or null for none. */
export function readLimit(text) {
  return /^\s*(none|)\s*$/i.test(text) ? null : readMoney(text);
}

/** To the last digit: a limit that is rounded up says more than it is. */
export function limitText(limit) {
  return limit === null ? "none" : `${dollars(limit, 6)}/h`;
}

/** A quarter above what presses now, in whole cents. */
export function raisedLimit(lease) {
  return Math.min(MOST, Math.ceil((lease.rate * RAISE) / CENT) * CENT);
}

/** Set a limit; asks first where that ends the lease or leaves it without one. Gives whether it was done. */
export async function setLimit(lease, limit) {
  const risk = risks([lease], limit);
  if (!risk) return now();
  return ask({
    title: risk.title,
    body: h("p", {}, risk.says),
    confirm: risk.confirm,
    danger: true,
    act: now,
  });

  async function now() {
    const done = await change("PATCH", at("/v1/leases", lease.id), {
      limit: limit === null ? null : decimal(limit),
    });
    toast(
      done.state === "ended"
        ? `${lease.leaf} has ended.`
        : `${lease.leaf}: limit ${limitText(limit)}.`,
    );
    return true;
  }
}

/** What must be said before this limit is set, or null. */
function risks(leases, limit) {
  if (limit === null) {
    const now = leases.reduce((sum, lease) => sum + lease.charged, 0);
    return {
      title:
        leases.length === 1
          ? "Keep it whatever the price?"
          : `Keep ${leases.length} leases whatever the price?`,
      says: `Without a limit nobody can outbid you, and you pay whatever others bid, up to $10,000 per hour for each. You pay ${rate(now)} now.`,
      confirm: "No limit",
    };
  }
  const below = leases.filter((lease) => limit < lease.rate);
  if (!below.length) return null;
  const held = below.filter((lease) => isHeld(lease, serverNow())).length;
  const when =
    held === below.length
      ? "when the hold is over"
      : held
        ? "at once, or when the hold is over"
        : "at once";
  const many = `what presses now on ${below.length} of ${leases.length} leases: they end`;
  const pressed = below.length === 1 ? `what presses now, ${rate(below[0].rate)}: it ends` : many;
  return {
    title:
      leases.length === 1 ? "This ends the lease" : `This ends ${plural(below.length, "lease")}`,
    says: `A limit of ${limitText(limit)} is below ${pressed} ${when}.`,
    confirm: leases.length === 1 ? "End the lease" : "Set it and end them",
  };
}

/** The dialog that asks for a limit, for one lease or for many. */
export function askLimit(leases, done) {
  const one = leases.length === 1 ? leases[0] : null;
  const before = one && one.limit !== null ? decimal(one.limit) : "";
  const hint = "The most that you pay. Empty: none, kept whatever the price.";
  const typed = field("Limit, dollars per hour", { value: before, inputmode: "decimal" }, hint);
  const warning = h("p", { class: "notice", role: "status", hidden: true });
  let send;
  let warned; // what the button said
  typed.input.addEventListener("input", warn);

  function warn() {
    typed.error("");
    let risk = null;
    try {
      risk = typed.input.value.trim()
        ? risks(leases, readLimit(typed.input.value))
        : risks(leases, null);
    } catch {
      // Whoever is still typing is told when the form is sent.
    }
    warning.hidden = !risk;
    warned = send.textContent = risk ? risk.confirm : "Set limit";
    send.classList.toggle("danger", Boolean(risk));
    if (risk) warning.textContent = risk.says;
  }

  async function act() {
    const limit = readLimit(typed.input.value);
    if ((risks(leases, limit)?.confirm ?? "Set limit") !== warned) {
      warn();
      throw new Error("The price has moved since you typed. Nothing was changed: look again.");
    }
    const written = limit === null ? null : decimal(limit);
    if (one) {
      const { state } = await change("PATCH", at("/v1/leases", one.id), { limit: written });
      toast(
        state === "ended" ? `${one.leaf} has ended.` : `${one.leaf}: limit ${limitText(limit)}.`,
      );
    } else {
      showOutcomes(
        await sendAll(
          leases.map(({ id, leaf }) => ({
            name: leaf,
            command: { type: "set_limit", lease: id, limit: written },
          })),
        ),
      );
    }
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

/** Give leases up, after a question that says what ends and what it has cost. */
export function relinquish(leases, done) {
  const now = serverNow();
  const spent = leases.reduce((sum, lease) => sum + costAt(lease, now), 0);
  const one = leases.length === 1 ? leases[0] : null;
  const held = one
    ? `You have held it for ${duration(now - one.started)}; it has cost ${cost(spent)}.`
    : `Together they have cost ${cost(spent)}.`;

  async function act() {
    if (one) {
      await change("DELETE", at("/v1/leases", one.id));
      toast(`${one.leaf} given up.`);
    } else {
      showOutcomes(
        await sendAll(
          leases.map(({ id, leaf }) => ({
            name: leaf,
            command: { type: "relinquish", lease: id },
          })),
        ),
      );
    }
    done?.();
  }

  const title = one ? `Give up ${one.leaf}?` : `Give up ${leases.length} leases?`;
  const body = h(
    "p",
    {},
    `${one ? "It ends" : "They end"} at once, with whatever runs there, and nothing more is charged. ${held}`,
  );
  return ask({
    title,
    body,
    confirm: one ? "Relinquish" : `Relinquish ${leases.length}`,
    danger: true,
    act,
  });
}

/** Raise the limits of leases that are near them; each to a quarter above its own rate. What that may cost is said first. */
export function raiseAll(leases) {
  const wanted = leases.map((lease) => ({
    id: lease.id,
    name: lease.leaf,
    limit: raisedLimit(lease),
  }));
  const [before, after] = [leases, wanted].map((list) =>
    list.reduce((sum, { limit }) => sum + limit, 0),
  );
  const says = `Each to a quarter above what presses on it now. Together they may then cost up to ${limitText(after)}, now up to ${limitText(before)}.`;
  const commands = wanted.map(({ id, name, limit }) => ({
    name,
    command: { type: "set_limit", lease: id, limit: decimal(limit) },
  }));
  const act = async () => void showOutcomes(await sendAll(commands));
  return ask({
    title: `Raise ${plural(leases.length, "limit")}?`,
    body: h("p", {}, says),
    confirm: "Raise all",
    act,
  });
}
