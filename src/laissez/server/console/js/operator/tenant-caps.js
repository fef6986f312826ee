// The caps of a tenant, and the dialogs that set caps and create tenants.

import { change } from "../api.js";
import { field } from "../components.js";
import { ask, toast } from "../dialogs.js";
import { h } from "../dom.js";
import { count, perHour } from "../format.js";
import { href } from "../router.js";

export const CAPS = [
  ["open_orders", "Open orders", "at once"],
  ["commands_per_second", "Commands per second", "on average"],
  ["commands_burst", "Commands in a burst", "at once, before the average applies"],
  ["sessions", "Sessions and streams", "at once"],
  ["rate", "Dollars per hour", "charged now, and limits of orders"],
  ["worst_rate", "Dollars per hour at worst", "limits of leases and orders"],
];
const MONEY = ["rate", "worst_rate"]; // decimal text, without a default
const KINDS = {
  count: {
    pattern: /^\d{1,9}$/,
    wrong: "Expected a whole number of at most nine digits, or nothing.",
  },
  money: {
    pattern: /^\d{1,9}(\.\d{1,6})?$/,
    wrong: "Expected dollars such as 40 or 99.50, or nothing.",
  },
};

const kindOf = (name) => (MONEY.includes(name) ? KINDS.money : KINDS.count);

export function isCapped(caps, name) {
  return caps[name] !== undefined && caps[name] !== null;
}

export function capText(caps, name) {
  if (!isCapped(caps, name)) return MONEY.includes(name) ? "none" : "default";
  return MONEY.includes(name) ? perHour(caps[name]) : count(caps[name]);
}

function capFields(caps) {
  const asked = (name) => ({
    inputmode: MONEY.includes(name) ? "decimal" : "numeric",
    placeholder: capText({}, name),
    value: caps[name] ?? "",
  });
  const fields = CAPS.map(([name, label, hint]) => ({ name, ...field(label, asked(name), hint) }));
  return {
    element: h(
      "div",
      { class: "fields" },
      fields.map(({ element }) => element),
    ),
    read: () => readCaps(fields),
  };
}

/** Read the caps. An empty field means the server's default, or no cap. */
function readCaps(fields) {
  const caps = {};
  let wrong = false;
  for (const { name, input, error } of fields) {
    const text = input.value.trim();
    const kind = kindOf(name);
    const isRight = kind.pattern.test(text);
    error(text && !isRight ? kind.wrong : "");
    wrong ||= Boolean(text) && !isRight;
    if (text) caps[name] = MONEY.includes(name) ? text : Number(text);
  }
  if (wrong) throw new Error("Correct the marked fields.");
  return caps;
}

export function setCaps({ name, caps }) {
  const fields = capFields(caps);
  const body = [
    h(
      "p",
      {},
      "New caps apply from the tenant's next request on. No lease ends, no order is " +
        "cancelled, and no session is closed.",
    ),
    h("p", {}, "An empty field means the server's default; for dollars, no cap."),
    fields.element,
  ];
  return ask({
    title: `Caps of ${name}`,
    body,
    confirm: "Set caps",
    act: async () => {
      await change("PATCH", `/v1/tenants/${encodeURIComponent(name)}`, { caps: fields.read() });
      toast(`Caps of ${name} are set.`);
    },
  });
}

export function createTenant() {
  const name = field(
    "Name",
    { required: true, maxlength: "200" },
    "At most 200 characters, without a slash. The name cannot be changed later.",
  );
  const fields = capFields({});
  const caps = h("details", {}, h("summary", {}, "Caps"), fields.element);
  const body = [
    name.element,
    caps,
    h("p", { class: "small soft" }, "The tenant needs a key before it can do anything."),
  ];
  return ask({
    title: "New tenant",
    body,
    confirm: "Create",
    act: async () => {
      const made = await change("POST", "/v1/tenants", {
        name: name.input.value.trim(),
        caps: fields.read(),
      });
      location.hash = href("tenants", made.name);
      toast(`Tenant ${made.name} is created. Issue a key next.`);
    },
  });
}
