// Dialogs that change a node: its floor, its controls, and which GPUs are online.

import { at, change } from "../api.js";
import { field, smallButton } from "../components.js";
import { toast } from "../dialogs.js";
import { fill, h } from "../dom.js";
import { decimal, dollars, micros, perHour, plural, readMoney } from "../format.js";
import { IDLE, OFFLINE } from "./levels.js";
import { askWithPreview, resultOfEvent, resultText } from "./preview.js";

const EMPTY = "Leave a field empty to use the setting of the nearest node above.";
const NUMBER = /^\d+(\.\d{1,4})?$/;
const PREVIEWED_MAX = 1000; // the limit of one preview
const BATCH = 500;
const isOnline = (owner) => owner >= IDLE;
const isOffline = (owner) => owner === OFFLINE;

/**
 * Buttons for a node. `bookNow()` returns its book; `done()` is called after a change. Returns
 * {element, show(book), levelsChanged()}.
 */
export function actionsFor(node, levels, bookNow, done) {
  const run = async (dialog) => (await dialog(node, bookNow(), levels)) && done();
  const button = (text, dialog) => smallButton(text, () => run(dialog));
  const floor = button("Set floor", setFloor);
  const noFloor = button("Remove floor", clearFloor);
  const controls = button("Set controls", setControls);
  const noControls = button("Remove controls", clearControls);
  const offline = button("", switchLeaves("take_offline"));
  const online = button("", switchLeaves("bring_online"));
  const element = h(
    "div",
    { class: "row node-actions", hidden: true },
    floor,
    noFloor,
    controls,
    noControls,
    offline,
    online,
  );

  function show(book) {
    element.hidden = false;
    noFloor.hidden = book.floor_own === null;
    noControls.hidden = book.controls === null;
  }

  /** Update the buttons after levels changed. */
  function levelsChanged() {
    label(offline, "Take", "offline", node, count(levels, node, isOnline));
    label(online, "Bring", "online", node, count(levels, node, isOffline));
  }

  levelsChanged();
  return { element, show, levelsChanged };
}

function label(button, verb, state, node, number) {
  const text = node.height === 0 ? `${verb} ${state}` : `${verb} ${plural(number, "GPU")} ${state}`;
  if (button.textContent !== text) fill(button, text);
  button.hidden = number === 0;
  button.disabled = number > PREVIEWED_MAX;
  button.title = button.disabled
    ? `At most ${PREVIEWED_MAX.toLocaleString("en-US")} at once: choose a smaller node.`
    : "";
}

function count(levels, { first, last }, fits) {
  let number = 0;
  for (let i = first; i < last; i++) if (fits(levels.owner[i])) number++;
  return number;
}

/** Parse a typed price: [micro-dollars, ""] or [null, error]. */
function readPrice(typed) {
  try {
    return [readMoney(typed), ""];
  } catch (error) {
    return [null, error.message];
  }
}

function setFloor(node, book) {
  const price = field(
    "Floor, dollars per hour",
    { value: book?.floor_own ?? "", inputmode: "decimal", placeholder: "2.75" },
    about(book),
  );
  let touched = false;
  price.input.addEventListener("input", () => (touched = true));
  function commands() {
    const [value, wrong] = readPrice(price.input.value);
    price.error(touched ? wrong : "");
    return value === null ? null : [{ type: "set_floor", node: node.path, price: decimal(value) }];
  }
  function label() {
    const [value] = readPrice(price.input.value);
    return value === null ? "Set floor" : `Set floor of ${node.path} to ${dollars(value)}/h`;
  }
  return askWithPreview({
    title: `Set the floor of ${node.path}`,
    body: price.element,
    inputs: [price.input],
    commands,
    label,
    leases: book?.leased ?? 0,
    async act([{ price: wanted }]) {
      const { events } = await change("PUT", at("/v1/floors", node.path), { price: wanted });
      toast(
        resultOfEvent("floor.set", `${node.path}: the floor stays at ${perHour(wanted)}`, events),
      );
    },
  });
}

function about(book) {
  if (!book) return "";
  const fall = book.controls_in_force.fall ? " A fall band may delay a lower floor." : "";
  return (
    `In force now: ${perHour(book.floor_in_force)}. The highest floor on the path ` +
    `applies.${fall}`
  );
}

function clearFloor(node, book) {
  return askWithPreview({
    title: `Remove the floor of ${node.path}`,
    commands: () => [{ type: "set_floor", node: node.path, price: null }],
    label: () => `Remove the floor of ${node.path}`,
    leases: book.leased,
    async act() {
      const { events } = await change("DELETE", at("/v1/floors", node.path));
      toast(resultOfEvent("floor.set", `${node.path}: floor removed`, events));
    },
  });
}

/** Convert a fraction of the API to percent and back, exactly. */
const percentOf = (fraction) => decimal(micros(fraction) * 100);
const fractionOf = (percent) => decimal(micros(percent) / 100);

/**
 * An optional number field. `read()` returns its text, null if empty, or undefined if invalid, and
 * shows the error.
 */
function number(label, value, hint, unit) {
  const made = field(label, { value: value ?? "", inputmode: "decimal" }, hint);
  function read() {
    const text = made.input.value.trim();
    const wrong =
      text && !NUMBER.test(text)
        ? `Expected ${unit}, with at most four decimals; found “${text}”.`
        : "";
    made.error(wrong);
    return wrong ? undefined : text || null;
  }
  return { ...made, read };
}

/** The two fields of a band. Returns {element, inputs, read()}. */
function band(name, own, hint) {
  const part = number(`${name}, at most %`, own ? percentOf(own.fraction) : "", hint, "percent");
  const time = number("within, seconds", own?.seconds, "", "seconds");
  function read() {
    const [percent, seconds] = [part.read(), time.read()];
    if (percent === undefined || seconds === undefined) return undefined;
    if (percent === null && seconds === null) return null;
    if (percent === null) part.error("Expected a number: a band needs both.");
    if (seconds === null) time.error("Expected a number: a band needs both.");
    return percent === null || seconds === null
      ? undefined
      : { fraction: fractionOf(percent), seconds: Number(seconds) };
  }
  return {
    element: h("div", { class: "fields" }, part.element, time.element),
    inputs: [part.input, time.input],
    read,
  };
}

function setControls(node, book) {
  const own = book?.controls ?? { rise: null, fall: null, hold_s: null, flash_s: null };
  const rise = band("Bids rise", own.rise, "Above the standing rate at the start of the interval.");
  const fall = band(
    "The floor falls",
    own.fall,
    "Below the node's floor at the start of the interval.",
  );
  const hold = number(
    "Hold, seconds",
    own.hold_s,
    "How long a new lease cannot be outbid.",
    "seconds",
  );
  const flash = number(
    "Flash fee, seconds",
    own.flash_s,
    "How long a withdrawn bid is charged for, if it set the price.",
    "seconds",
  );
  const seconds = (read) => (read === null || read === undefined ? read : Number(read));

  function body() {
    const read = {
      rise: rise.read(),
      fall: fall.read(),
      hold_s: seconds(hold.read()),
      flash_s: seconds(flash.read()),
    };
    if (Object.values(read).includes(undefined)) return null;
    return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== null));
  }

  return askWithPreview({
    title: `Set controls at ${node.path}`,
    body: [
      h("p", { class: "small soft" }, EMPTY),
      rise.element,
      fall.element,
      h("div", { class: "fields" }, hold.element, flash.element),
    ],
    inputs: [...rise.inputs, ...fall.inputs, hold.input, flash.input],
    commands: () => body() && [{ type: "set_controls", node: node.path, ...body() }],
    label: () => `Set controls of ${node.path}`,
    leases: book?.leased ?? 0,
    async act() {
      const { events } = await change("PUT", at("/v1/controls", node.path), body());
      toast(resultOfEvent("controls.set", `${node.path}: controls set`, events));
    },
  });
}

function clearControls(node, book) {
  return askWithPreview({
    title: `Remove the controls of ${node.path}`,
    body: h("p", { class: "small soft" }, "Then the controls of the nodes above apply."),
    commands: () => [{ type: "set_controls", node: node.path }],
    label: () => `Remove the controls of ${node.path}`,
    leases: book.leased,
    async act() {
      const { events } = await change("DELETE", at("/v1/controls", node.path));
      toast(resultOfEvent("controls.set", `${node.path}: controls removed`, events));
    },
  });
}

const ACTS = {
  take_offline: { fits: isOnline, verb: "Take", state: "offline", online: false },
  bring_online: {
    fits: isOffline,
    verb: "Bring",
    state: "online",
    online: true,
  },
};

/** A function that opens the dialog for `take_offline` or `bring_online`. */
function switchLeaves(type) {
  const { fits, verb, state, online } = ACTS[type];
  return (node, book, levels) => {
    const leaves = levels.leaves
      .slice(node.first, node.last)
      .filter((_, i) => fits(levels.owner[node.first + i]));
    const what = node.height === 0 ? node.path : `${plural(leaves.length, "GPU")} of ${node.path}`;
    return askWithPreview({
      title: `${verb} ${what} ${state}`,
      commands: () => leaves.map((leaf) => ({ type, leaf })),
      label: () =>
        `${verb} ${node.height === 0 ? node.name : plural(leaves.length, "GPU")} ${state}`,
      leases: book?.leased ?? 0,
      async act(commands) {
        const { events, refused } =
          node.height === 0 ? await one(node, online) : await many(commands);
        const failed = refused.length
          ? `; ${plural(refused.length, "GPU was", "GPUs were")} refused: ${refused[0].detail}`
          : "";
        const did =
          `${plural(commands.length - refused.length, "GPU")} ` +
          `${online ? "back online" : "taken offline"}`;
        toast(resultText(`${did}${failed}`, events), refused.length ? "bad" : "");
      },
    });
  };
}

async function one(node, online) {
  const { events } = await change("PATCH", at("/v1/resources", node.path), { online });
  return { events, refused: [] };
}

async function many(commands) {
  const results = [];
  for (let from = 0; from < commands.length; from += BATCH) {
    results.push(
      ...(await change("POST", "/v1/batch", { commands: commands.slice(from, from + BATCH) }))
        .results,
    );
  }
  return {
    events: results.flatMap(({ events }) => events ?? []),
    refused: results.filter(({ status }) => status >= 400),
  };
}
