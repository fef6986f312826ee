// Sends many commands at once and shows their outcomes.

import { change } from "../api.js";
import { ask } from "../dialogs.js";
import { h } from "../dom.js";
import { micros, plural, rate, reason } from "../format.js";

const AT_ONCE = 200; // well below the server's limit

/**
 * Send the commands of `items`, [{name, command}]. Returns [{name, events, ok, text}] in the same
 * order.
 */
export async function sendAll(items) {
  const outcomes = [];
  for (let first = 0; first < items.length; first += AT_ONCE) {
    const part = items.slice(first, first + AT_ONCE);
    const { results } = await change("POST", "/v1/batch", {
      commands: part.map(({ command }) => command),
    });
    outcomes.push(
      ...results.map((result, i) => ({
        name: part[i].name,
        events: result.events ?? [],
        ...outcome(result),
      })),
    );
  }
  return outcomes;
}

function outcome({ status, events = [], detail }) {
  if (status >= 400) return { ok: false, text: detail };
  const happened = events.map(({ event }) => event);
  const ended = happened.find(({ type }) => type === "lease.ended");
  const set = happened.find(({ type }) => type === "lease.limit_set");
  if (ended) return { ok: true, text: `ended, ${reason(ended.reason)}` };
  if (set)
    return { ok: true, text: set.limit === null ? "no limit" : `limit ${rate(micros(set.limit))}` };
  return { ok: true, text: "done" };
}

/** Send the commands, and show their outcomes in a dialog. */
export async function sendAndShow(items) {
  const outcomes = await sendAll(items);
  const failed = outcomes.filter(({ ok }) => !ok).length;
  const lines = outcomes.map(({ name, ok, text }) =>
    h(
      "li",
      {},
      h("span", { class: "path" }, name),
      h("span", { class: `tag ${ok ? "good" : "bad"}` }, text),
    ),
  );
  const title = failed
    ? `${plural(failed, "command")} of ${outcomes.length} refused`
    : `${plural(outcomes.length, "command")} carried out`;
  const body = h("ul", { class: "outcomes", tabindex: "0", "aria-label": "Outcomes" }, lines);
  ask({ title, body, confirm: "Close", cancel: null }); // the dialog before it closes meanwhile
}
