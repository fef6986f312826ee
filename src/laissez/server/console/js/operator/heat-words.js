// What a leaf or a group is, in words: for the pointer, and for those who hear it.

import { h } from "../dom.js";
import { count, dollars, percent, perHour, plural } from "../format.js";
import { IDLE } from "./map-levels.js";

export function ownerOf(levels, i) {
  return levels.owner[i] >= 0
    ? levels.owners[levels.owner[i]]
    : levels.owner[i] === IDLE
      ? "idle"
      : "offline";
}

export function limitOf(levels, i) {
  return Number.isNaN(levels.limit[i]) ? "none" : perHour(levels.limit[i]);
}

/** [name, value] of what is known about a leaf. */
function leafFacts(levels, i) {
  if (levels.owner[i] < 0)
    return [
      ["", ownerOf(levels, i)],
      ["Rate", perHour(levels.rate[i])],
      ["Floor", perHour(levels.floor[i])],
    ];
  return [
    ["Owner", ownerOf(levels, i)],
    ["Rate", perHour(levels.rate[i])],
    ["Limit", limitOf(levels, i)],
    ["Headroom", Number.isNaN(levels.limit[i]) ? "no limit" : percent(levels.headroom(i))],
  ];
}

function groupFacts(levels, node) {
  const { leaves, leased, idle, offline, low, middle, high } = levels.figures(node);
  return [
    ["Leased", `${count(leased)} of ${count(leaves)}`],
    ["Idle", count(idle)],
    ["Offline", count(offline)],
    ...(low === null
      ? []
      : [
          ["Rates", `${dollars(low)} – ${dollars(high)}`],
          ["Median", perHour(middle)],
        ]),
  ];
}

function factsOf(levels, node) {
  return node.height === 0 ? leafFacts(levels, node.first) : groupFacts(levels, node);
}

/** One sentence. */
export function spoken(levels, node) {
  const what = node.height === 0 ? "" : `, ${plural(node.last - node.first, "leaf", "leaves")}`;
  return `${node.name}${what}: ${factsOf(levels, node)
    .map(([name, value]) => `${name} ${value}`.trim())
    .join(", ")}`;
}

/** The content of a tip. */
export function tip(levels, node, view) {
  const path = node.path.slice(view.path ? view.path.length + 1 : 0) || node.name;
  const rows = factsOf(levels, node).map(([name, value]) => [
    h("dt", {}, name),
    h("dd", {}, value),
  ]);
  return [
    h("b", {}, path),
    node.level ? h("span", { class: "soft" }, ` ${node.level}`) : null,
    h("dl", {}, rows),
  ];
}
