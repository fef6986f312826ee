// Small things that the tenant's pages share.

import { h, say } from "../dom.js";
import { splitPath } from "../format.js";
import { href } from "../router.js";

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

/** A tile; `say({value, note})` sets its texts. */
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
    say(texts) {
      say(value, texts.value);
      say(note, texts.note ?? "");
      if (texts.title) value.title = texts.title;
    },
  };
}

/** Call `act` every second while somebody looks. Gives what to call to stop. */
export function everySecond(act) {
  const timer = setInterval(() => !document.hidden && act(), 1000);
  return () => clearInterval(timer);
}

/** `act`, but at most once in `ms`; the last call is never lost. Its `stop()` forgets what waits. */
export function paced(act, ms) {
  let waiting = null;
  let last = 0;
  function turn() {
    if (waiting !== null) return;
    waiting = setTimeout(
      () => {
        waiting = null;
        last = Date.now();
        act();
      },
      Math.max(0, last + ms - Date.now()),
    );
  }
  turn.stop = () => clearTimeout(waiting);
  return turn;
}
