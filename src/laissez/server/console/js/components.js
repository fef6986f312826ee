// Components that pages share: cards, tiles, buttons, fields, bars.

import { h, setText } from "./dom.js";
import { splitPath } from "./format.js";
import { href } from "./router.js";

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

export const LINE_MS = 10; // a bill is asked for again this much later for each of its lines: a long one is not fetched all the time

/** A path with its last part strong; with `link`, the id of a lease, a link to it. */
export function pathName(path, link = null) {
  const [before, last] = splitPath(path);
  const parts = [h("span", { class: "soft" }, before), h("b", {}, last)];
  return link
    ? h("a", { class: "path", href: href("leases", link) }, parts)
    : h("span", { class: "path" }, parts);
}

/** How many rows of a long list to show at first: a phone gets fewer. */
export function rows(most) {
  return matchMedia("(max-width: 40rem)").matches ? Math.min(most, 40) : most;
}

/** A card with a heading; `aside` goes beside the heading. */
export function card({ id, title, kind = "", aside = null }, ...body) {
  return h(
    "section",
    { class: `card ${kind}`.trim(), "aria-labelledby": id },
    h("header", {}, h("h2", { id }, title), aside),
    body,
  );
}

/** A small button; `more` are further attributes. */
export function smallButton(text, act, kind = "", more = {}) {
  return h(
    "button",
    { type: "button", class: `button small ${kind}`.trim(), onclick: act, ...more },
    text,
  );
}

/** A tile; `update({value, note, title})` sets its texts. */
export function tile(label, more = null) {
  const value = h("div", { class: "value" }, "–");
  const note = h("div", { class: "note" });
  const element = h(
    "div",
    { class: "tile" },
    h("div", { class: "label" }, label),
    value,
    note,
    more,
  );
  return {
    element,
    update(texts) {
      setText(value, texts.value);
      setText(note, texts.note ?? "");
      if (texts.title) value.title = texts.title;
    },
  };
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
  setText(text, words);
}
