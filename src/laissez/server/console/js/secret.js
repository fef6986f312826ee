// A secret is shown once, in a dialog, and is nowhere afterwards: not in this page either.

import { h, say } from "./dom.js";
import { ask } from "./messages.js";

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
    say(button, "Copied");
  } catch {
    getSelection().selectAllChildren(shown);
    say(button, "Press Ctrl+C");
  }
}
