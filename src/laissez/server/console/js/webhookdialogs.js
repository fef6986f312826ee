// What can be done with webhooks, each in a dialog. A secret is shown once and is nowhere afterwards.

import { all, change } from "./api.js";
import { h } from "./dom.js";
import { words } from "./eventwords.js";
import { count, moment } from "./format.js";
import { ask, field, toast } from "./messages.js";
import { showSecret } from "./secret.js";
import { Table } from "./table.js";

const GENUINE =
  "Deliveries are signed with it: whoever has it could send you what the service never said.";

export async function createWebhook() {
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

export async function rotateSecret(id) {
  const made = {};
  const act = async () => Object.assign(made, await change("POST", address(id, "/secret")));
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

export function redeliver(id) {
  const hint =
    "The number of the last event that is not sent again. Receivers pass over numbers that they have seen.";
  const after = field("After event number", { inputmode: "numeric", required: true }, hint);
  const act = async () => {
    const text = after.input.value.trim();
    if (!/^\d{1,15}$/.test(text)) throw new Error("Expected the number of an event, or 0 for all.");
    await change("POST", address(id, "/redeliver"), { after: Number(text) });
    toast(`Everything after event ${text} is sent again.`);
  };
  return ask({ title: "Send again", body: after.element, confirm: "Send again", act });
}

export function deleteWebhook(id) {
  const act = async () => {
    await change("DELETE", address(id));
    toast(`Webhook ${id} is deleted.`);
  };
  const body = [
    h("p", { class: "mono" }, id),
    h("p", {}, "Nothing more is sent to it, and its dead letters are gone."),
  ];
  return ask({ title: "Delete this webhook?", body, confirm: "Delete", danger: true, act });
}

export async function showDeadLetters(id) {
  try {
    const letters = await all(address(id, "/dead-letters"));
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
    value: ({ told }) => (told ? words(told.event) : "no longer kept"),
  },
  { name: "Why", wide: true, value: ({ why }) => why },
  { name: "Given up", value: ({ at }) => moment(at) },
];

function address(id, more = "") {
  return `/v1/webhooks/${encodeURIComponent(id)}${more}`;
}
