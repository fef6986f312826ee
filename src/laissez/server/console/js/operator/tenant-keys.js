// The card of a tenant's keys. A secret is shown once, in a dialog, and not kept in the page.

import { all, change } from "../api.js";
import { card, field, smallButton } from "../components.js";
import { ask, showSecret, toast } from "../dialogs.js";
import { h, setText } from "../dom.js";
import { moment } from "../format.js";
import { Table } from "../table.js";
import { poll } from "../timers.js";

const EVERY_MS = 30_000;
const SCOPES = [
  ["read", "Read", "see the tenant's own data"],
  ["trade", "Trade", "place orders, set limits, relinquish leases"],
];

export class KeysCard {
  constructor(name, { feed, mayOperate }) {
    this.name = name;
    this.path = `/v1/tenants/${encodeURIComponent(name)}/keys`;
    this.mayOperate = mayOperate;
    this.table = new Table({
      columns: [...COLUMNS, { name: "", make: (key) => this.revoking(key) }],
      // a revoked key gets a new row, without the button
      key: ({ id, revoked_at }) => `${id} ${revoked_at}`,
      caption: `Keys of ${name}`,
      empty: "This tenant has no keys, so nobody can act for it.",
      row: (row, { revoked_at }) => row.classList.toggle("faint", Boolean(revoked_at)),
    });
    this.withRevoked = smallButton("", () => this.toggle(), "plain", { hidden: true });
    const issue = mayOperate ? smallButton("Issue a key", () => this.issue()) : null;
    this.element = card({ title: "Keys", aside: [this.withRevoked, issue] }, this.table.element);
    this.showsRevoked = false;
    this.keys = [];
    this.poll = poll(() => this.ask(), EVERY_MS);
    this.stop = feed.onChange(["key."], this.poll.now);
  }

  revoking(key) {
    if (key.revoked_at || !this.mayOperate) return null;
    return smallButton("Revoke", () => this.revoke(key), "danger");
  }

  async ask() {
    this.keys = await all(this.path);
    this.draw();
  }

  draw() {
    const live = this.keys.filter(({ revoked_at }) => !revoked_at);
    const gone = this.keys.length - live.length;
    this.table.show(this.showsRevoked ? this.keys : live);
    this.withRevoked.hidden = !gone;
    setText(this.withRevoked, this.showsRevoked ? "Hide revoked" : `Show ${gone} revoked`);
  }

  toggle() {
    this.showsRevoked = !this.showsRevoked;
    this.draw();
  }

  async issue() {
    const hint = "Two keys may have the same name, so that a new key can replace an old one.";
    const name = field("Name of the key", { value: "default", required: true }, hint);
    const boxes = SCOPES.map(([scope, label, what]) => [
      scope,
      h("input", { type: "checkbox", checked: true }),
      `${label}: ${what}`,
    ]);
    const checks = boxes.map(([, box, text]) => h("label", {}, box, h("span", {}, text)));
    const body = [
      name.element,
      h("fieldset", { class: "checks" }, h("legend", {}, "Allows"), checks),
    ];
    const issued = {};
    const act = async () => {
      const scopes = boxes.filter(([, box]) => box.checked).map(([scope]) => scope);
      if (!scopes.length) throw new Error("Choose at least one scope.");
      Object.assign(
        issued,
        await change("POST", this.path, { name: name.input.value.trim(), scopes }),
      );
    };
    if (!(await ask({ title: `Issue a key to ${this.name}`, body, confirm: "Issue", act }))) return;
    this.poll.now();
    const about =
      "The key is shown only this once. Keep it secret: anyone who has it can act for " +
      `${issued.holder}.`;
    await showSecret(
      "The new key",
      issued.secret,
      about,
      "If you lose it, revoke it and issue another.",
    );
  }

  async revoke({ id, name }) {
    const body = [
      h("p", { class: "mono" }, id),
      h(
        "p",
        {},
        "The key stops working at once and for good. All sessions, streams and sign-ins " +
          "that use it end.",
      ),
      h(
        "p",
        {},
        "Leases and orders stay, except the orders of sessions that cancel them on disconnect.",
      ),
    ];
    const act = async () => {
      await change("DELETE", `/v1/keys/${encodeURIComponent(id)}`);
      toast(`Key ${id} is revoked.`);
    };
    if (
      await ask({
        title: `Revoke the key “${name}” of ${this.name}?`,
        body,
        confirm: "Revoke",
        danger: true,
        act,
      })
    )
      this.poll.now();
  }

  close() {
    this.poll.stop();
    this.stop();
  }
}

function lifetime({ issued_at, revoked_at }) {
  const revoked = revoked_at
    ? h("span", { class: "small block", title: revoked_at }, `revoked ${moment(revoked_at)}`)
    : null;
  return h("span", { title: issued_at }, moment(issued_at), revoked);
}

const COLUMNS = [
  { name: "Name", sort: ({ name }) => name, value: ({ name }) => name },
  { name: "ID", make: ({ id }) => h("code", {}, id) },
  { name: "Allows", value: ({ scopes }) => scopes.join(", ") },
  { name: "Issued", sort: ({ issued_at }) => issued_at, make: lifetime },
];
