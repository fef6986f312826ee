// keys

import { all, change } from "../api.js";
import { field } from "../components.js";
import { ask, showSecret, toast } from "../dialogs.js";
import { h, setText } from "../dom.js";
import { moment } from "../format.js";
import { Table } from "../table.js";
import { poll } from "../timers.js";
import { card } from "./inframaps.js";

const EVERY_MS = 30_000;
const SCOPES = [
  ["read", "Read", "look at what is its own"],
  ["trade", "Trade", "place orders, set limits, give up leases"],
];

export class KeysCard {
  constructor(name, { feed, mayOperate }) {
    this.name = name;
    this.path = `/v1/tenants/${encodeURIComponent(name)}/keys`;
    this.mayOperate = mayOperate;
    this.table = new Table({
      columns: [...COLUMNS, { name: "", make: (key) => this.revoking(key) }],
      key: ({ id, revoked_at }) => `${id} ${revoked_at}`, // a row is made anew when its key is revoked: the button goes
      caption: `Keys of ${name}`,
      empty: "No key works: nobody can act for this tenant.",
      row: (row, { revoked_at }) => row.classList.toggle("faint", Boolean(revoked_at)),
    });
    this.withRevoked = h("button", {
      class: "button plain small",
      type: "button",
      hidden: true,
      onclick: () => this.toggle(),
    });
    const issue = mayOperate
      ? h(
          "button",
          { class: "button small", type: "button", onclick: () => this.issue() },
          "Issue a key",
        )
      : null;
    this.element = card(h("h2", {}, "Keys"), [this.withRevoked, issue], this.table.element);
    this.showsRevoked = false;
    this.keys = [];
    this.poll = poll(() => this.ask(), EVERY_MS);
    this.stop = feed.onChange(["key."], this.poll.now);
  }

  revoking(key) {
    if (key.revoked_at || !this.mayOperate) return null;
    return h(
      "button",
      { class: "button small danger", type: "button", onclick: () => this.revoke(key) },
      "Revoke",
    );
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
    const hint = "Two keys of one name may live at once, so that a new one can replace the old.";
    const name = field("Name of the key", { value: "default", required: true }, hint);
    const boxes = SCOPES.map(([scope, label, what]) => [
      scope,
      h("input", { type: "checkbox", checked: true }),
      `${label}: ${what}`,
    ]);
    const checks = boxes.map(([, box, text]) => h("label", {}, box, h("span", {}, text)));
    const body = [
      name.element,
      h("fieldset", { class: "checks" }, h("legend", {}, "What it allows"), checks),
    ];
    const issued = {};
    const act = async () => {
      const scopes = boxes.filter(([, box]) => box.checked).map(([scope]) => scope);
      if (!scopes.length) throw new Error("A key without a scope allows nothing: choose one.");
      Object.assign(
        issued,
        await change("POST", this.path, { name: name.input.value.trim(), scopes }),
      );
    };
    if (!(await ask({ title: `Issue a key to ${this.name}`, body, confirm: "Issue", act }))) return;
    this.poll.now();
    const about = `This is the only time that it is shown. Keep it where no one else can read it: whoever has it can act for ${issued.holder}.`;
    await showSecret("The new key", issued.secret, about, "Lost it? Revoke it and issue another.");
  }

  async revoke({ id, name }) {
    const body = [
      h("p", { class: "mono" }, id),
      h(
        "p",
        {},
        "From this instant it opens nothing, for good. Sessions and streams that use it end, and so does every sign-in made with it.",
      ),
      h(
        "p",
        {},
        "Leases and orders stay, except orders of sessions that asked for their orders to be cancelled when they end.",
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
  { name: "Id", make: ({ id }) => h("code", {}, id) },
  { name: "Allows", value: ({ scopes }) => scopes.join(", ") },
  { name: "Issued", sort: ({ issued_at }) => issued_at, make: lifetime },
];
