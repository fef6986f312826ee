// Setting and removing a floor.

import { at, change } from "../api.js";
import { decimal, dollars, micros, perHour } from "../format.js";
import { field, toast } from "../messages.js";
import { askWithPreview } from "./actions-preview.js";
import { byEvent } from "./actions-told.js";

const MOST = 10_000;

/** [micro-dollars, ""] of what was typed, or [null, what is wrong with it]. */
function readPrice(typed) {
  const text = typed.trim().replace(/^\$/, "");
  if (!text) return [null, "Expected a price, such as 2.75."];
  if (!/^\d+(\.\d*)?$/.test(text))
    return [null, `Expected dollars per hour, such as 2.75; found “${text}”.`];
  if ((text.split(".")[1] ?? "").length > 6) return [null, "Expected at most six decimals."];
  if (Number(text) > MOST)
    return [null, `Expected at most ${MOST.toLocaleString("en-US")} dollars per hour.`];
  return [micros(text), ""];
}

export function setFloor(node, book) {
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
      toast(byEvent("floor.set", `${node.path}: the floor stays ${perHour(wanted)}`, events));
    },
  });
}

function about(book) {
  if (!book) return "";
  const fall = book.controls_in_force.fall ? " A fall band may hold a lower one back." : "";
  return `In force now: ${perHour(book.floor_in_force)}. The highest floor on the path counts.${fall}`;
}

export function clearFloor(node, book) {
  return askWithPreview({
    title: `Remove the floor of ${node.path}`,
    commands: () => [{ type: "set_floor", node: node.path, price: null }],
    label: () => `Remove the floor of ${node.path}`,
    leases: book.leased,
    async act() {
      const { events } = await change("DELETE", at("/v1/floors", node.path));
      toast(byEvent("floor.set", `${node.path}: floor removed`, events));
    },
  });
}
