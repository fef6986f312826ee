// The webhooks page.

import { all, change } from "./api.js";
import { field } from "./components.js";
import { ask, showSecret, toast } from "./dialogs.js";
import { fill, h, setText } from "./dom.js";
import { describe } from "./event-text.js";
import { count, moment } from "./format.js";
import { Table } from "./table.js";
import { poll } from "./timers.js";

const EVERY_MS = 5000;
const GENUINE =
  "Deliveries are signed with it: whoever has it could send you what the service never said.";

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
  setText(tag, state);
  setText(note, fails ? `${why}; ${count(failures)} in a row, again ${moment(next)}` : "");
}

function sayDead(cell, { dead_letters: kept, dead_letters_dropped: dropped }) {
  const [button, none] = cell.children;
  button.hidden = !kept;
  none.hidden = kept > 0;
  setText(button, `Show ${count(kept)}`);
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

async function createWebhook() {
  const url = field(
    "Address",
    { type: "url", placeholder: "https://", required: true },
    "A public https address that answers with 2xx within seconds.",
  );
  const types = field(
    "Types of events",
    { placeholder: "all" },
    "Such as lease.started, lease.ended; with commas between. Nothing means all.",
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
    "For a day deliveries are signed with both, the new one and the one before, so that you can switch in between.",
  );
  if (!(await ask({ title: "A new secret?", body, confirm: "New secret", act }))) return false;
  await secretOf(
    made.secret,
    "The new secret",
    ` The one before signs too until ${moment(made.previous_until)}.`,
  );
  return true;
}

function secretOf(secret, title, more) {
  return showSecret(
    title,
    secret,
    `This is the only time that it is shown. ${GENUINE}${more}`,
    "Lost it? Have a new one made.",
  );
}

function redeliver(id) {
  const hint =
    "The number of the last event that is not sent again. Receivers pass over numbers that they have seen.";
  const after = field("After event number", { inputmode: "numeric", required: true }, hint);
  const act = async () => {
    const text = after.input.value.trim();
    if (!/^\d{1,15}$/.test(text)) throw new Error("Expected the number of an event, or 0 for all.");
    await change("POST", webhookPath(id, "/redeliver"), { after: Number(text) });
    toast(`Everything after event ${text} is sent again.`);
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
    h("p", {}, "Nothing more is sent to it, and its dead letters are gone."),
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
      empty: "None any more.",
    });
    table.show(letters.reverse());
    const about = h(
      "p",
      { class: "small soft" },
      "Given up, newest first. “Send again” sends what is still kept.",
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
    name: "What it was",
    wide: true,
    value: ({ told }) => (told ? describe(told.event) : "no longer kept"),
  },
  { name: "Why", wide: true, value: ({ why }) => why },
  { name: "Given up", value: ({ at }) => moment(at) },
];

function webhookPath(id, more = "") {
  return `/v1/webhooks/${encodeURIComponent(id)}${more}`;
}
