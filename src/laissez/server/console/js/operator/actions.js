// What the operator can do at a node. Everything is shown before it is done.

import { fill, h } from "../dom.js";
import { plural } from "../format.js";
import { clearControls, setControls } from "./actions-controls.js";
import { clearFloor, setFloor } from "./actions-floor.js";
import { PREVIEWED_MAX, switchLeaves } from "./actions-leaves.js";
import { IDLE, OFFLINE } from "./map-levels.js";

/** Buttons for a node. `bookNow()` gives its book, `done()` is called after something was done. Gives {element, show(book), told()}. */
export function actionsFor(node, levels, bookNow, done) {
  const run = async (dialog) => (await dialog(node, bookNow(), levels)) && done();
  const button = (text, dialog) =>
    h("button", { class: "button small", type: "button", onclick: () => run(dialog) }, text);
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

  /** Leaves may have changed. */
  function told() {
    label(
      offline,
      "Take",
      "offline",
      count(levels, node, (owner) => owner >= IDLE),
      node,
    );
    label(
      online,
      "Bring",
      "online",
      count(levels, node, (owner) => owner === OFFLINE),
      node,
    );
  }

  told();
  return { element, show, told };
}

function label(button, verb, state, number, node) {
  const text =
    node.height === 0 ? `${verb} ${state}` : `${verb} ${plural(number, "leaf", "leaves")} ${state}`;
  if (button.textContent !== text) fill(button, text);
  button.hidden = number === 0;
  button.disabled = number > PREVIEWED_MAX;
  button.title = button.disabled
    ? `At most ${PREVIEWED_MAX.toLocaleString("en-US")} at once: choose a smaller part.`
    : "";
}

function count(levels, { first, last }, fits) {
  let number = 0;
  for (let i = first; i < last; i++) if (fits(levels.owner[i])) number++;
  return number;
}
