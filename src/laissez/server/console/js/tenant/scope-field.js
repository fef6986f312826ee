// A field for the path of a node: suggests children while the user types, or browses the tree.

import { Problem, all } from "../api.js";
import { fill, h } from "../dom.js";
import { plural, splitPath } from "../format.js";

const PLAIN = { autocomplete: "off", spellcheck: "false", autocapitalize: "off" };
const known = new Map(); // path -> {path, level, leaves, children}
let roots = null;

/**
 * A combobox for the path of a node, with suggestions. Calls `changed()` on each change;
 * `quote(path)` is a text to show beside a suggestion. Returns {element, input}.
 */
export function scopeField(value, changed, quote) {
  const id = `scope-${(scopeField.made = (scopeField.made ?? 0) + 1)}`;
  const list = h("ul", {
    id: `${id}-list`,
    class: "offers",
    role: "listbox",
    "aria-label": "Nodes",
    hidden: true,
  });
  const input = h("input", {
    id,
    value,
    class: "input",
    placeholder: "h100/zone-a",
    ...PLAIN,
    ...{
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": `${id}-list`,
      "aria-autocomplete": "list",
    },
  });
  const browse = h(
    "button",
    { type: "button", class: "button", "aria-label": "Browse nodes", tabindex: "-1" },
    "▾",
  );
  const element = h(
    "div",
    { class: "field scope" },
    h("label", { for: id }, "Node"),
    h("div", { class: "combo" }, input, browse, list),
  );
  let nodes = [];
  let active = -1;

  async function offer() {
    try {
      nodes = await suggestions(input.value.trim());
    } catch (problem) {
      // no suggestions; the typed text still counts
      if (!(problem instanceof Problem)) throw problem;
      nodes = [];
    }
    active = -1;
    draw();
  }

  function draw() {
    fill(
      list,
      up(),
      nodes.map((node, i) => option(node, i)),
    );
    const open = document.activeElement === input && list.childElementCount > 0;
    list.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    if (active >= 0) input.setAttribute("aria-activedescendant", `${id}-${active}`);
    else input.removeAttribute("aria-activedescendant");
    list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }

  function up() {
    const cut = input.value.lastIndexOf("/");
    if (cut < 0) return null;
    const [above] = splitPath(input.value.slice(0, cut));
    return h(
      "li",
      { role: "presentation", class: "up", onmousedown: (event) => go(event, above) },
      `↑ ${above.slice(0, -1) || "all types"}`,
    );
  }

  function option(node, i) {
    const deeper = h(
      "span",
      {
        class: "deeper",
        title: "Child nodes",
        onmousedown: (event) => go(event, `${node.path}/`),
      },
      "›",
    );
    const size = node.children.length ? plural(node.leaves, "GPU") : "one GPU";
    return h(
      "li",
      {
        id: `${id}-${i}`,
        role: "option",
        "aria-selected": String(i === active),
        onmousedown: (event) => take(event, node.path),
      },
      h("span", { class: "what" }, splitPath(node.path)[1]),
      h("span", { class: "soft small" }, [node.level, size].filter(Boolean).join(", ")),
      h("span", { class: "num small" }, quote(node.path)),
      node.children.length ? deeper : null,
    );
  }

  function go(event, text) {
    event.preventDefault();
    event.stopPropagation();
    input.value = text;
    changed();
    offer();
  }

  function take(event, path) {
    event.preventDefault();
    input.value = path;
    changed();
    close();
  }

  function close() {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function key(event) {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move && list.hidden) offer();
    else if (move) {
      active = (active + move + nodes.length) % (nodes.length || 1);
      draw();
    } else if (event.key === "Enter" && active >= 0 && !list.hidden)
      return take(event, nodes[active].path);
    else if (event.key === "ArrowRight" && active >= 0 && nodes[active].children.length)
      return go(event, `${nodes[active].path}/`);
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  input.addEventListener("input", () => (changed(), offer()));
  input.addEventListener("focus", () => !input.value && offer());
  input.addEventListener("click", offer);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", key);
  browse.addEventListener("mousedown", (event) => {
    event.preventDefault();
    if (list.hidden) (input.focus(), offer());
    else close();
  });
  return { element, input };
}

/** The roots of the topology. */
async function rootNodes() {
  roots ??= all("/v1/topology").catch((problem) => {
    roots = null;
    throw problem;
  });
  const found = await roots;
  found.forEach((node) => known.set(node.path, node));
  return found;
}

/** The children of a known node. */
async function below(path) {
  const node = known.get(path);
  if (!node?.children.length) return [];
  if (!known.has(node.children[0]))
    (await all("/v1/topology", { node: path })).forEach((one) => known.set(one.path, one));
  return node.children.map((child) => known.get(child)).filter(Boolean);
}

/**
 * Suggestions for a typed path: the children of the part before the last slash that match the rest.
 */
async function suggestions(text) {
  const cut = text.lastIndexOf("/");
  if (cut < 0) return matching(await rootNodes(), text, text);
  const parent = text.slice(0, cut);
  if (!(await isKnown(parent))) return [];
  return matching(await below(parent), text, text.slice(cut + 1));
}

function matching(nodes, text, last) {
  const begun = nodes.filter(({ path }) => path.startsWith(text));
  return begun.length
    ? begun
    : nodes.filter(({ path }) => path.slice(path.lastIndexOf("/") + 1).includes(last));
}

/**
 * Does a node exist? Walks down from the root, so that no request names a node that may not exist.
 */
async function isKnown(path) {
  await rootNodes();
  const parts = path.split("/");
  for (let depth = 1; depth < parts.length; depth++) {
    const parent = parts.slice(0, depth).join("/");
    if (!known.has(parent)) return false;
    await below(parent);
  }
  return known.has(path);
}
