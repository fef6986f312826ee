// Components that pages share: fields, buttons, cards, tiles and bars.

import { h, setText } from "./dom.js";
import { splitPath } from "./format.js";
import { href } from "./router.js";

/** A labelled input. Returns {element, input, error(text)}. */
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

/** A segmented control: a row of buttons, one pressed. Calls `choose(value)` on a change. */
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

// pause between fetches of the bill, per line: long bills are fetched less often
export const LINE_MS = 10;

/** A path with its last part in bold. With `link`, the ID of a lease, it links to that lease. */
export function pathName(path, link = null) {
  const [before, last] = splitPath(path);
  const parts = [h("span", { class: "soft" }, before), h("b", {}, last)];
  return link
    ? h("a", { class: "path", href: href("leases", link) }, parts)
    : h("span", { class: "path" }, parts);
}

/** How many rows of a long list to show at first: fewer on a phone. */
export function rows(most) {
  return matchMedia("(max-width: 40rem)").matches ? Math.min(most, 40) : most;
}

/**
 * A card with a heading. `aside` goes beside the heading; with `id`, the heading names the section.
 */
export function card({ title, id, level = 2, kind = "", aside = null }, ...body) {
  return h(
    "section",
    { class: `card ${kind}`.trim(), "aria-labelledby": id },
    h("header", {}, h(`h${level}`, { id }, title), aside),
    body,
  );
}

/** A button. `kind` has more CSS classes, `more` further attributes. */
export function button(text, onclick, kind = "", more = {}) {
  return h("button", { type: "button", class: `button ${kind}`.trim(), onclick, ...more }, text);
}

export function smallButton(text, onclick, kind = "", more = {}) {
  return button(text, onclick, `small ${kind}`.trim(), more);
}

/** A tile with a label, a value and a note. `update({value, note, title})` sets the texts. */
export function tile(label, more = null) {
  const value = h("div", { class: "value" }, "–");
  const note = h("div", { class: "note" });
  const name = h("div", { class: "label" }, label);
  const element = h("div", { class: "tile" }, name, value, note, more);
  return {
    element,
    update(texts) {
      setText(value, texts.value);
      setText(note, texts.note ?? "");
      if (texts.title) value.title = texts.title;
    },
  };
}

/** A list of facts: [[name, dd element], ...]. */
export function factList(rows) {
  return h(
    "dl",
    { class: "facts" },
    rows.map(([name, value]) => h("div", {}, h("dt", {}, name), value)),
  );
}

/** A search field. Calls `act()` on every input. */
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

/** A share as a bar and as text, for a table cell. */
export function shareCell(kind = "") {
  return h("span", { class: `share ${kind}` }, h("span", { class: "bar" }, h("span")), h("span"));
}

export function updateShare(cell, share, words) {
  const [bar, text] = cell.firstElementChild.children;
  bar.firstElementChild.style.width = `${Number.isFinite(share) ? share * 100 : 0}%`;
  setText(text, words);
}
