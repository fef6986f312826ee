// The places that there are, fetched as somebody goes down the tree.

import { all } from "../api.js";

const known = new Map(); // path -> {path, level, leaves, children}
let roots = null;

/** The nodes at the top. */
async function rootNodes() {
  roots ??= all("/v1/topology").catch((problem) => {
    roots = null;
    throw problem;
  });
  const found = await roots;
  found.forEach((node) => known.set(node.path, node));
  return found;
}

/** The nodes right below a node that is known. */
async function below(path) {
  const node = known.get(path);
  if (!node?.children.length) return [];
  if (!known.has(node.children[0]))
    (await all("/v1/topology", { node: path })).forEach((one) => known.set(one.path, one));
  return node.children.map((child) => known.get(child)).filter(Boolean);
}

/** What a typed text may mean: what is below the part before its last slash and begins like the rest. */
export async function suggestions(text) {
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

/** Whether there is such a node, found by going down from its root: no question is ever asked about a node that may not be there. */
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
