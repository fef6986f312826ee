// Toasts, dialogs that ask for confirmation, and the dialog that shows a secret once.

import { button } from "./components.js";
import { fill, h, setText } from "./dom.js";

const SHOWN_MS = 6000;

export function toast(text, kind = "") {
  const message = h("div", { class: `toast ${kind}` }, text);
  document.getElementById("toasts").append(message);
  setTimeout(() => message.remove(), SHOWN_MS);
}

/**
 * Open a dialog and return a promise of whether it was confirmed. Confirming awaits `act`; the
 * dialog then closes, or shows the error. `cancel: null` omits the cancel button. `ready(button,
 * dialog)` runs before the dialog opens and may disable the confirm button.
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
    const no = button(cancel ?? "", () => dialog.close(), "", { hidden: cancel === null });
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
        // the user closed the dialog before the request failed
        if (!dialog.isConnected) toast(`${title}: ${error.message}`, "bad");
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

/** Close all dialogs, on signing out. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}

/**
 * Show a secret once. `about` explains it, `lost` says what to do when it is lost. The answer to a
 * retried request has no secret: `secret` is then empty.
 */
export function showSecret(title, secret, about, lost) {
  if (!secret) {
    const gone = "Only the server's first answer contained the secret, and that answer was lost.";
    return ask({
      title,
      body: [h("p", {}, gone), h("p", {}, lost)],
      confirm: "Close",
      cancel: null,
    });
  }
  const shown = h("output", { class: "secret mono", tabindex: "0" }, secret);
  const copy = button("Copy", () => copySecret(shown, copy));
  const body = [
    h("p", {}, about),
    h("div", { class: "row" }, shown, copy),
    h("p", { class: "small soft" }, lost),
  ];
  return ask({ title, body, confirm: "I have saved it", cancel: null, act: async () => {} });
}

/** Copy to the clipboard. Without TLS browsers deny access to it: select the text instead. */
async function copySecret(shown, label) {
  try {
    await navigator.clipboard.writeText(shown.textContent);
    setText(label, "Copied");
  } catch {
    getSelection().selectAllChildren(shown);
    setText(label, "Press Ctrl+C");
  }
}
