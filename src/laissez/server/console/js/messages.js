// Short messages at the edge of the page, and questions that must be answered first.

import { fill, h } from "./dom.js";

const SHOWN_MS = 6000;

export function toast(text, kind = "") {
  const message = h("div", { class: `toast ${kind}` }, text);
  document.getElementById("toasts").append(message);
  setTimeout(() => message.remove(), SHOWN_MS);
}

/**
 * Ask in a dialog. `body` is nodes; `act` is called when confirmed and may take its time: the dialog closes when it is through, and shows the
 * problem if there is one. `cancel: null` leaves nothing to cancel. `ready(button, dialog)` may hold the confirmation back until a preview is
 * there. Gives a promise of whether it was done.
 */
export function ask({
  title,
  body,
  confirm,
  cancel = "Cancel",
  danger = false,
  act = async () => {},
  ready = () => {},
}) {
  return new Promise((done) => {
    const problem = h("p", { class: "problem", role: "alert", hidden: true });
    const yes = h(
      "button",
      { class: `button primary ${danger ? "danger" : ""}`, type: "submit" },
      confirm,
    );
    const no = h(
      "button",
      { class: "button", type: "button", hidden: cancel === null, onclick: () => dialog.close() },
      cancel ?? "",
    );
    const form = h(
      "form",
      { method: "dialog", onsubmit: submit },
      h("h2", { id: "dialog-title" }, title),
      body,
      problem,
      h("div", { class: "actions" }, no, yes),
    );
    const dialog = h("dialog", { "aria-labelledby": "dialog-title", onclose: leave }, form);
    let did = false;

    async function submit(event) {
      event.preventDefault();
      if (yes.disabled) return;
      yes.disabled = true;
      problem.hidden = true;
      try {
        await act();
        did = true;
        dialog.close();
      } catch (error) {
        fill(problem, error.message);
        problem.hidden = false;
        yes.disabled = false;
        if (!dialog.isConnected) toast(`${title}: ${error.message}`, "bad"); // somebody did not wait, but must know
      }
    }

    function leave() {
      dialog.remove();
      done(did);
    }

    document.body.append(dialog);
    ready(yes, dialog);
    dialog.showModal();
  });
}

/** Whoever is signed out is asked nothing more. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}

/** A labelled field. Gives {element, input, error(text)}. */
export function field(label, attributes = {}, hint = "") {
  const id = `field-${(field.made = (field.made ?? 0) + 1)}`;
  const input = h("input", {
    id,
    class: "input",
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": `${id}-about`,
    ...attributes,
  });
  const about = h("span", { class: "hint", id: `${id}-about` }, hint);
  const element = h("div", { class: "field" }, h("label", { for: id }, label), input, about);
  function error(text) {
    about.className = text ? "error" : "hint";
    about.textContent = text || hint;
    input.setAttribute("aria-invalid", text ? "true" : "false");
  }
  return { element, input, error };
}

/** A choice of few, as a row of buttons. Gives the element; `choose(value)` is called when it changes. */
export function segments(label, choices, chosen, choose) {
  const buttons = choices.map(([value, name]) =>
    h(
      "button",
      { type: "button", "aria-pressed": String(value === chosen), onclick: () => pick(value) },
      name,
    ),
  );
  function pick(value) {
    choices.forEach(([other], i) =>
      buttons[i].setAttribute("aria-pressed", String(other === value)),
    );
    choose(value);
  }
  return h("div", { class: "segments", role: "group", "aria-label": label }, buttons);
}
