// Toasts and dialogs.

import { fill, h, setText } from "./dom.js";

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

/** `about` says what it is for, `lost` what to do without it. A request that was sent again, because its answer did not come, may be answered without. */
export function showSecret(title, secret, about, lost) {
  if (!secret) {
    const gone = "It was in the first answer alone, and that was lost on its way here.";
    return ask({
      title,
      body: [h("p", {}, gone), h("p", {}, lost)],
      confirm: "Close",
      cancel: null,
    });
  }
  const shown = h("output", { class: "secret mono", tabindex: "0" }, secret);
  const copy = h(
    "button",
    { class: "button", type: "button", onclick: () => copied(shown, copy) },
    "Copy",
  );
  const body = [
    h("p", {}, about),
    h("div", { class: "row" }, shown, copy),
    h("p", { class: "small soft" }, lost),
  ];
  return ask({ title, body, confirm: "I have kept it", cancel: null, act: async () => {} });
}

/** Without TLS a browser gives no clipboard to pages; then the text is selected, ready to be copied. */
async function copied(shown, button) {
  try {
    await navigator.clipboard.writeText(shown.textContent);
    setText(button, "Copied");
  } catch {
    getSelection().selectAllChildren(shown);
    setText(button, "Press Ctrl+C");
  }
}
