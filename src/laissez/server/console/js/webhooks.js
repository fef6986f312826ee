// The webhooks page, and its dialogs. A secret is shown once and not kept in the page.

import { all, change } from "./api.js";
import { card, field, smallButton } from "./components.js";
import { ask, showSecret, toast } from "./dialogs.js";
import { fill, h, setText } from "./dom.js";
import { describe } from "./event-text.js";
import { count, moment, plural } from "./format.js";
import { Table } from "./table.js";
import { poll } from "./timers.js";

const EVERY_MS = 5000;
const GENUINE = "It signs the deliveries: anyone who has it can forge them.";

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
      "No webhooks yet. A webhook sends your events to a URL of yours: signed, in order, " +
      "and retried until delivered.",
  });
  const asking = poll(async () => table.show(await all("/v1/webhooks")), EVERY_MS);
  const stop = feed.onChange(["webhook."], asking.now);
  const then = (done) => done && asking.now();
  const create = () => createWebhook().then(then);
  const fresh = mayChange ? smallButton("New webhook", create) : null;
  const endpoints = card({ title: "Endpoints", aside: fresh }, table.element);
  fill(main, h("div", { class: "page-head" }, h("h1", {}, "Webhooks")), endpoints);

  function actions({ id }) {
    const action = (text, act, kind) => smallButton(text, () => act(id).then(then), kind);
    return h(
      "span",
      { class: "row" },
      action("Send again", redeliver),
      action("New secret", rotateSecret),
      action("Delete", deleteWebhook, "danger"),
    );
  }

  return {
    close() {
      asking.stop();
      stop();
    },
  };
}

function updateState(cell, { state, last_error: why, failures, next_attempt_at: next }) {
  const [tag, note] = cell.children;
  const fails = state === "retrying";
  tag.className = `tag ${fails ? "warn" : "good"}`;
  setText(tag, state);
  setText(
    note,
    fails ? `${why}; ${plural(failures, "failure")} in a row, next attempt ${moment(next)}` : "",
  );
}

function updateDead(cell, { dead_letters: kept, dead_letters_dropped: dropped }) {
  const [button, none] = cell.children;
  button.hidden = !kept;
  none.hidden = kept > 0;
  setText(button, `Show ${count(kept)}`);
  button.title = dropped ? `${plural(dropped, "older dead letter")} dropped` : "";
}

const COLUMNS = [
  {
    name: "URL",
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
    update: updateState,
  },
  { name: "Delivered up to", num: true, value: ({ delivered }) => count(delivered) },
  {
    name: "Dead letters",
    make: ({ id }) => [
      smallButton("", () => showDeadLetters(id)),
      h("span", { class: "soft" }, "none"),
    ],
    update: updateDead,
  },
];

function of(types) {
  return h(
    "span",
    { class: "small soft" },
    types ? ` · only ${types.join(", ")}` : " · all events",
  );
}

async function createWebhook() {
  const url = field(
    "URL",
    { type: "url", placeholder: "https://", required: true },
    "A public https URL that answers with 2xx within seconds.",
  );
  const types = field(
    "Types of events",
    { placeholder: "all" },
    "For example lease.started, lease.ended. Leave empty for all.",
  );
  const made = {};
  const act = async () => {
    const wanted = types.input.value.split(/[\s,]+/).filter(Boolean);
    Object.assign(
      made,
      await change("POST", "/v1/webhooks", {
        url: url.input.value.trim(),
        types: wanted.length ? wanted : null,
      }),
    );
  };
  if (
    !(await ask({
      title: "New webhook",
      body: [url.element, types.element],
      confirm: "Create",
      act,
    }))
  )
    return false;
  await secretOf(made.secret, "The secret of the new webhook", "");
  return true;
}

async function rotateSecret(id) {
  const made = {};
  const act = async () => Object.assign(made, await change("POST", webhookPath(id, "/secret")));
  const body = h(
    "p",
    {},
    "For a day, deliveries are signed with both the new and the old secret, so that you " +
      "can switch.",
  );
  if (!(await ask({ title: "Rotate the secret?", body, confirm: "New secret", act }))) return false;
  await secretOf(
    made.secret,
    "The new secret",
    ` The old secret also signs until ${moment(made.previous_until)}.`,
  );
  return true;
}

function secretOf(secret, title, more) {
  return showSecret(
    title,
    secret,
    `The secret is shown only this once. ${GENUINE}${more}`,
    "If you lose it, rotate it.",
  );
}

function redeliver(id) {
  const hint =
    "The number of the last event not to send again. Receivers should skip numbers that " +
    "they have seen.";
  const after = field("After event number", { inputmode: "numeric", required: true }, hint);
  const act = async () => {
    const text = after.input.value.trim();
    if (!/^\d{1,15}$/.test(text)) throw new Error("Expected the number of an event, or 0 for all.");
    await change("POST", webhookPath(id, "/redeliver"), { after: Number(text) });
    toast(`All events after ${text} are sent again.`);
  };
  return ask({ title: "Send again", body: after.element, confirm: "Send again", act });
}

function deleteWebhook(id) {
  const act = async () => {
    await change("DELETE", webhookPath(id));
    toast(`Webhook ${id} is deleted.`);
  };
  const body = [
    h("p", { class: "mono" }, id),
    h("p", {}, "Deliveries stop, and the dead letters are deleted."),
  ];
  return ask({ title: "Delete this webhook?", body, confirm: "Delete", danger: true, act });
}

async function showDeadLetters(id) {
  try {
    const letters = await all(webhookPath(id, "/dead-letters"));
    const table = new Table({
      columns: LETTERS,
      key: ({ n }) => n,
      caption: "Dead letters",
      empty: "No dead letters.",
    });
    table.show(letters.reverse());
    const about = h(
      "p",
      { class: "small soft" },
      "Events that could not be delivered, newest first. “Send again” sends those that " +
        "are still kept.",
    );
    await ask({
      title: "Dead letters",
      body: [about, table.element],
      confirm: "Close",
      cancel: null,
    });
  } catch (problem) {
    toast(problem.message, "bad");
  }
}

const LETTERS = [
  {
    name: "Event",
    num: true,
    value: ({ n, last }) => (n === last ? `#${count(n)}` : `#${count(n)} to #${count(last)}`),
  },
  {
    name: "Event text",
    wide: true,
    value: ({ told }) => (told ? describe(told.event) : "no longer kept"),
  },
  { name: "Reason", wide: true, value: ({ why }) => why },
  { name: "Since", value: ({ at }) => moment(at) },
];

function webhookPath(id, more = "") {
  return `/v1/webhooks/${encodeURIComponent(id)}${more}`;
}
