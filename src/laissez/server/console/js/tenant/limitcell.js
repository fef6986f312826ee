// The limit of a lease, changed where it stands: click, type, Enter. Escape leaves it as it was.

import { h, say } from "../dom.js";
import { decimal } from "../format.js";
import { toast } from "../messages.js";
import { limitText, readLimit, setLimit } from "./limits.js";

/** A column of a table of leases. `editing(open)` tells when somebody types: rows should stay where they are then. */
export function limitColumn(mayTrade, editing) {
  const column = { name: "Limit", num: true, sort: (lease) => lease.limit };
  if (!mayTrade) return { ...column, value: (lease) => limitText(lease.limit) };
  return {
    ...column,
    make: () => h("button", { type: "button", class: "editable" }),
    update(cell, lease) {
      cell.lease = lease;
      const button = cell.firstElementChild;
      if (!button.opens) {
        button.opens = true;
        button.addEventListener("click", () => open(cell, button, editing));
      }
      say(button, limitText(lease.limit));
      const label = `Change the limit of ${lease.leaf}, ${limitText(lease.limit)}`;
      if (button.getAttribute("aria-label") !== label) button.setAttribute("aria-label", label);
    },
  };
}

function open(cell, button, editing) {
  const { limit, leaf } = cell.lease;
  const input = h("input", {
    class: "input inline",
    value: limit === null ? "none" : decimal(limit),
    inputmode: "decimal",
    "aria-label": `Limit of ${leaf}, dollars per hour, or none`,
    title: "Enter saves, Escape leaves. none: kept whatever the price",
  });
  let busy = false;

  async function save() {
    if (busy) return;
    busy = true;
    try {
      const typed = readLimit(input.value);
      if (typed === limit || (await setLimit(cell.lease, typed)) !== false) leave();
    } catch (problem) {
      input.setAttribute("aria-invalid", "true");
      toast(problem.message, "bad");
    }
    busy = false;
  }

  function leave() {
    if (!input.isConnected) return;
    input.remove();
    button.hidden = false;
    button.focus();
    editing(false);
  }

  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault(); // or the same key would press a button of the question that follows
    if (event.key === "Enter") save();
    else leave();
  });
  input.addEventListener("blur", () =>
    setTimeout(() => !busy && input.isConnected && document.activeElement !== input && leave(), 0),
  );
  button.hidden = true;
  cell.append(input);
  input.select();
  editing(true);
}
