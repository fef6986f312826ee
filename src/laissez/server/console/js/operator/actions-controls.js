// Setting and removing bands, holds and flash fees.

import { at, change } from "../api.js";
import { h } from "../dom.js";
import { decimal, micros } from "../format.js";
import { field, toast } from "../messages.js";
import { askWithPreview } from "./actions-preview.js";
import { byEvent } from "./actions-told.js";

const EMPTY = "What is left empty is left to the nearest node above that sets it.";
const NUMBER = /^\d+(\.\d{1,4})?$/;

/** A fraction of the API as percent, and back; both are exact. */
const percentOf = (fraction) => decimal(micros(fraction) * 100);
const fractionOf = (percent) => decimal(micros(percent) / 100);

/** A number that may be left out. Gives {element, input, read()}: the text, null if there is none; undefined if it is wrong, which it says itself. */
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

/** Two numbers that go together. Gives {element, inputs, read()}. */
function band(name, own, hint) {
  const part = number(`${name}, at most %`, own ? percentOf(own.fraction) : "", hint, "percent");
  const time = number("within seconds", own?.seconds, "", "seconds");
  function read() {
    const [percent, seconds] = [part.read(), time.read()];
    if (percent === undefined || seconds === undefined) return undefined;
    if (percent === null && seconds === null) return null;
    if (percent === null) part.error("Expected a number: a band has both.");
    if (seconds === null) time.error("Expected a number: a band has both.");
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

export function setControls(node, book) {
  const own = book?.controls ?? { rise: null, fall: null, hold_s: null, flash_s: null };
  const rise = band("Bids rise", own.rise, "Above the standing rate at the start of the interval.");
  const fall = band(
    "The floor falls",
    own.fall,
    "Below its own floor at the start of the interval.",
  );
  const hold = number(
    "Hold, seconds",
    own.hold_s,
    "How long a new lease cannot be lost for price.",
    "seconds",
  );
  const flash = number(
    "Flash fee, seconds",
    own.flash_s,
    "How long a bid that made the price is charged for if it is withdrawn.",
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
      toast(byEvent("controls.set", `${node.path}: controls set`, events));
    },
  });
}

export function clearControls(node, book) {
  return askWithPreview({
    title: `Remove the controls of ${node.path}`,
    body: h("p", { class: "small soft" }, "Those of the nodes above count then."),
    commands: () => [{ type: "set_controls", node: node.path }],
    label: () => `Remove the controls of ${node.path}`,
    leases: book.leased,
    async act() {
      const { events } = await change("DELETE", at("/v1/controls", node.path));
      toast(byEvent("controls.set", `${node.path}: controls removed`, events));
    },
  });
}
