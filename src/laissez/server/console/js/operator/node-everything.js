// Beside the map when all of it is shown: what there is, and who holds it.

import { h, keyed, say } from "../dom.js";
import { count, percent, perHour } from "../format.js";
import { href } from "../router.js";

const EVERY_MS = 2000;
const OWNERS = 12;

/** Gives {element, close()}. */
export function everything(forest, levels) {
  const [kinds, owners] = [h("ul", { class: "holdings" }), h("ul", { class: "holdings" })];

  function show() {
    keyed(
      kinds,
      forest.children,
      ({ path }) => path,
      kind,
      (row, node) => {
        const { leased, idle, middle } = levels.figures(node);
        tell(row, middle === null ? "offline" : `median ${perHour(middle)}`, leased, leased + idle);
      },
    );
    const held = holders(forest, levels);
    keyed(
      owners,
      held.slice(0, OWNERS),
      ({ name }) => name,
      owner,
      (row, { size }) => tell(row, "", size, forest.last),
    );
  }

  show();
  const timer = setInterval(show, EVERY_MS);
  const hint = h(
    "p",
    { class: "soft small" },
    "Choose a part of the map to see its prices, its book and what can be done there.",
  );
  return {
    element: [
      h("section", { class: "card" }, h("header", {}, h("h2", {}, "Everything")), kinds, hint),
      h(
        "section",
        { class: "card" },
        h(
          "header",
          {},
          h("h2", {}, "Who holds most"),
          h("span", { class: "small soft" }, "leaves"),
        ),
        owners,
      ),
    ],
    close: () => clearInterval(timer),
  };
}

function kind(node) {
  return row(h("a", { href: href("map", node.path) }, node.name));
}

function owner({ name }) {
  return row(h("a", { href: href("tenants", name) }, name));
}

function row(name) {
  return h(
    "li",
    {},
    name,
    h("span", { class: "soft small" }),
    h("span", { class: "num" }),
    h("div", { class: "bar" }, h("span", {})),
  );
}

function tell(row, note, part, whole) {
  const [, about, number, bar] = row.children;
  say(about, note);
  say(number, `${count(part)} (${percent(whole ? part / whole : 0)})`);
  bar.firstChild.style.width = `${whole ? (100 * part) / whole : 0}%`;
}

function holders(forest, levels) {
  const sizes = new Int32Array(levels.owners.length);
  for (let i = forest.first; i < forest.last; i++)
    if (levels.owner[i] >= 0) sizes[levels.owner[i]]++;
  return levels.owners
    .map((name, i) => ({ name, size: sizes[i] }))
    .filter(({ size }) => size)
    .sort((a, b) => b.size - a.size);
}
