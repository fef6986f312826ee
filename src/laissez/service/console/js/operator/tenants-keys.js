// A tenant's keys. A secret is shown once, in a dialog, and is nowhere afterwards: not in this page either.

import { all, change } from "../api.js";
import { h, say } from "../dom.js";
import { moment } from "../format.js";
import { ask, field, toast } from "../messages.js";
import { poll } from "../poll.js";
import { Table } from "../table.js";

const EVERY_MS = 30_000;
const SCOPES = [["read", "Read", "look at what is its own"], ["trade", "Trade", "place orders, set limits, give up leases"]];

export class TenantsKeys {
  constructor(name, { feed, mayOperate }) {
    this.name = name;
    this.path = `/v1/tenants/${encodeURIComponent(name)}/keys`;
    const act = { name: "", make: (key) => (key.revoked_at || !mayOperate ? null : h("button", { class: "button small danger", type: "button", onclick: () => this.revoke(key) }, "Revoke")) };
    // A row is made anew when its key is revoked: the button goes.
    this.table = new Table({ columns: [...COLUMNS, act], key: ({ id, revoked_at }) => `${id} ${revoked_at}`, caption: `Keys of ${name}`, empty: "No key works: nobody can act for this tenant.", row: (row, { revoked_at }) => row.classList.toggle("faint", Boolean(revoked_at)) });
    this.withRevoked = h("button", { class: "button plain small", type: "button", hidden: true, "aria-pressed": "false", onclick: () => this.toggle() });
    const issue = mayOperate ? h("button", { class: "button small", type: "button", onclick: () => this.issue() }, "Issue a key") : null;
    this.element = h("section", { class: "card" }, h("header", {}, h("h2", {}, "Keys"), this.withRevoked, issue), this.table.element);
    this.showsRevoked = false;
    this.keys = [];
    this.poll = poll(() => this.ask(), EVERY_MS);
    this.stop = feed.onChange(["key."], this.poll.now);
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
    say(this.withRevoked, this.showsRevoked ? "Hide revoked" : `Show ${gone} revoked`);
  }

  toggle() {
    this.showsRevoked = !this.showsRevoked;
    this.withRevoked.setAttribute("aria-pressed", String(this.showsRevoked));
    this.draw();
  }

  async issue() {
    const name = field("Name of the key", { value: "default", required: true }, "Two keys of one name may live at once, so that a new one can replace the old.");
    const boxes = SCOPES.map(([scope, label, what]) => [scope, h("input", { type: "checkbox", checked: true }), `${label}: ${what}`]);
    const body = [name.element, h("fieldset", { class: "checks" }, h("legend", {}, "What it allows"), boxes.map(([, box, text]) => h("label", {}, box, h("span", {}, text))))];
    const issued = {};
    const act = async () => {
      const scopes = boxes.filter(([, box]) => box.checked).map(([scope]) => scope);
      if (!scopes.length) throw new Error("A key without a scope allows nothing: choose one.");
      Object.assign(issued, await change("POST", this.path, { name: name.input.value.trim(), scopes }));
    };
    if (!(await ask({ title: `Issue a key to ${this.name}`, body, confirm: "Issue", act }))) return;
    this.poll.now();
    await showSecret(issued);
  }

  async revoke({ id, name }) {
    const body = [
      h("p", {}, "From this instant it opens nothing. Sessions and streams that use it end, and so does every sign-in to the console that was made with it. It cannot be taken back."),
      h("p", {}, "Leases and orders stay, except orders of sessions that asked for their orders to be cancelled when they end."),
    ];
    const act = async () => {
      await change("DELETE", `/v1/keys/${encodeURIComponent(id)}`);
      toast(`Key ${id} is revoked.`);
    };
    if (await ask({ title: `Revoke the key “${name}” of ${this.name}?`, body: [h("p", { class: "mono" }, id), ...body], confirm: "Revoke", danger: true, act })) this.poll.now();
  }

  close() {
    this.poll.stop();
    this.stop();
  }
}

function showSecret({ secret, holder }) {
  const shown = h("output", { class: "secret mono", tabindex: "0" }, secret);
  const copy = h("button", { class: "button", type: "button", onclick: () => copied(shown, copy) }, "Copy");
  const body = [
    h("p", {}, `This is the only time that this key of ${holder} is shown. Keep it where no one else can read it: whoever has it can act for ${holder}.`),
    h("div", { class: "row" }, shown, copy),
    h("p", { class: "small soft" }, "Lost it? Revoke it and issue another."),
  ];
  return ask({ title: "The new key", body, confirm: "I have kept it", cancel: null, act: async () => {} });
}

/** Without TLS a browser gives no clipboard to pages; then the text is selected, ready to be copied. */
async function copied(shown, button) {
  try {
    await navigator.clipboard.writeText(shown.textContent);
    say(button, "Copied");
  } catch {
    getSelection().selectAllChildren(shown);
    say(button, "Press Ctrl+C");
  }
}

const COLUMNS = [
  { name: "Name", sort: ({ name }) => name, value: ({ name }) => name },
  { name: "Id", make: ({ id }) => h("code", {}, id) },
  { name: "Allows", value: ({ scopes }) => scopes.join(", ") },
  { name: "Issued", sort: ({ issued_at }) => issued_at, make: ({ issued_at, revoked_at }) => h("span", { title: issued_at }, moment(issued_at), revoked_at ? h("span", { class: "small block", title: revoked_at }, `revoked ${moment(revoked_at)}`) : null) },
];
