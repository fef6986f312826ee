// Pages that a key which may only read cannot fill: it is told so, instead of being shown an empty page.

import { h } from "../dom.js";

/** The page, for those whose key may operate. */
export function needsOperate(page) {
  return { ...page, mount: (main, context) => (context.mayOperate ? page.mount(main, context) : refuse(main, page)) };
}

function refuse(main, { name }) {
  const why = "This page needs a key with the scope operate; yours may read. The map and the events are open to you.";
  main.append(h("h1", {}, name), h("p", { class: "notice" }, why));
  return {};
}
