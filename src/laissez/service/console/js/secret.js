// A secret is shown once, in a dialog, and is nowhere afterwards: not in this page either.

import { h, say } from "./dom.js";
import { ask } from "./messages.js";

/** `about` says what it is for, `lost` what to do without it. */
export function showSecret(title, secret, about, lost) {
  const shown = h("output", { class: "secret mono", tabindex: "0" }, secret);
  const copy = h("button", { class: "button", type: "button", onclick: () => copied(shown, copy) }, "Copy");
  const body = [h("p", {}, about), h("div", { class: "row" }, shown, copy), h("p", { class: "small soft" }, lost)];
  return ask({ title, body, confirm: "I have kept it", cancel: null, act: async () => {} });
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
