// Webhooks of whoever is signed in: where events are sent, how far each got, and what could not be delivered.

import { all } from "./api.js";
import { fill, h, say } from "./dom.js";
import { count, moment } from "./format.js";
import { poll } from "./poll.js";
import { Table } from "./table.js";
import {
  createWebhook,
  deleteWebhook,
  redeliver,
  rotateSecret,
  showDeadLetters,
} from "./webhookdialogs.js";

const EVERY_MS = 5000;

export const webhooks = { path: "webhooks", name: "Webhooks", mount };

function mount(main, { feed, mayTrade, mayOperate }) {
  const mayChange = mayTrade || mayOperate;
  const table = new Table({
    columns: [
      ...COLUMNS,
      ...(mayChange ? [{ name: "", wide: true, make: (one) => actions(one) }] : []),
    ],
    key: ({ id }) => id,
    caption: "Webhooks",
    empty:
      "None yet. A webhook has your events sent to an address of yours: signed, in order, again until they are taken.",
  });
  const asking = poll(async () => table.show(await all("/v1/webhooks")), EVERY_MS);
  const stop = feed.onChange(["webhook."], asking.now);
  const then = (done) => done && asking.now();
  const create = () => createWebhook().then(then);
  const fresh = mayChange
    ? h("button", { class: "button small", type: "button", onclick: create }, "New webhook")
    : null;
  const card = h(
    "section",
    { class: "card" },
    h("header", {}, h("h2", {}, "Where events are sent"), fresh),
    table.element,
  );
  fill(main, h("div", { class: "page-head" }, h("h1", {}, "Webhooks")), card);

  function actions({ id }) {
    const button = (text, act, kind = "") =>
      h(
        "button",
        { class: `button small ${kind}`, type: "button", onclick: () => act(id).then(then) },
        text,
      );
    return h(
      "span",
      { class: "row" },
      button("Send again", redeliver),
      button("New secret", rotateSecret),
      button("Delete", deleteWebhook, "danger"),
    );
  }

  return {
    close() {
      asking.stop();
      stop();
    },
  };
}

function sayState(cell, { state, last_error: why, failures, next_attempt_at: next }) {
  const [tag, note] = cell.children;
  const fails = state === "retrying";
  tag.className = `tag ${fails ? "warn" : "good"}`;
  say(tag, state);
  say(note, fails ? `${why}; ${count(failures)} in a row, again ${moment(next)}` : "");
}

function sayDead(cell, { dead_letters: kept, dead_letters_dropped: dropped }) {
  const [button, none] = cell.children;
  button.hidden = !kept;
  none.hidden = kept > 0;
  say(button, `Show ${count(kept)}`);
  button.title = dropped ? `${count(dropped)} older ones were dropped` : "";
}

const COLUMNS = [
  {
    name: "Sent to",
    wide: true,
    make: ({ id, url, types }) =>
      h(
        "span",
        {},
        h("span", { class: "anywhere block" }, url),
        h("code", { class: "small soft" }, id),
        of(types),
      ),
  },
  {
    name: "State",
    make: () => [h("span", { class: "tag" }), h("span", { class: "small soft block" })],
    update: sayState,
  },
  { name: "Up to event", num: true, value: ({ delivered }) => count(delivered) },
  {
    name: "Dead letters",
    make: ({ id }) => [
      h("button", { class: "button small", type: "button", onclick: () => showDeadLetters(id) }),
      h("span", { class: "soft" }, "none"),
    ],
    update: sayDead,
  },
];

function of(types) {
  return h(
    "span",
    { class: "small soft" },
    types ? ` · only ${types.join(", ")}` : " · all events",
  );
}
