// Small parts that the operator's pages share.

import { h, say } from "../dom.js";

/** A card with its heading; `beside` are nodes at the other end of the heading's row. */
export function card(title, beside, ...content) {
  return h("section", { class: "card" }, h("header", {}, title, beside), content);
}

/** A field to search with; `act()` is called with every letter. */
export function finder(placeholder, label, act) {
  return h("input", {
    class: "input find",
    type: "search",
    placeholder,
    "aria-label": label,
    spellcheck: "false",
    oninput: act,
  });
}

/** A share as a bar and in words, for a cell. */
export function shareCell(kind = "") {
  return h("span", { class: `share ${kind}` }, h("span", { class: "bar" }, h("span")), h("span"));
}

export function sayShare(cell, share, words) {
  const [bar, text] = cell.firstElementChild.children;
  bar.firstElementChild.style.width = `${Number.isFinite(share) ? share * 100 : 0}%`;
  say(text, words);
}
