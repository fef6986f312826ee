// The layout: hosts are rows, and each GPU has a lane. An open host has lanes with names, a closed one thin lanes.
const OPEN_LANE = 15;
const HOST_HEIGHT_MIN = 15;
const MANY_GPUS = 64; // with more of them, hosts start closed

const hosts = [];
for (const [leaf, path] of run.leaves.entries()) {
  const words = path.split("/");
  const above = words.slice(0, -1).join("/") || path;
  if (hosts.at(-1)?.path !== above) {
    const inner = words.slice(1, -1);
    const name = inner.pop() ?? words[0];
    hosts.push({ path: above, tree: words[0], group: inner.join(" / "), name, leaves: [], isOpen: run.leaves.length <= MANY_GPUS });
  }
  hosts.at(-1).leaves.push(leaf);
}

let rows = { height: 0, headings: [], hosts: [], lanes: [] };

function layRows() {
  const thin = run.leaves.length <= 128 ? 4 : run.leaves.length <= 400 ? 3 : run.leaves.length <= 2000 ? 2 : 1;
  const laid = { height: 2, headings: [], hosts: [], lanes: [] };
  let [tree, group] = [null, null];
  for (const host of hosts) {
    if (host.tree !== tree) {
      laid.headings.push({ y: laid.height, height: 24, text: host.tree, isTree: true });
      laid.height += 24;
      [tree, group] = [host.tree, null];
    }
    if (host.group !== group && host.group) {
      laid.headings.push({ y: laid.height, height: 17, text: host.group, isTree: false });
      laid.height += 17;
    }
    group = host.group;
    const lane = host.isOpen ? OPEN_LANE : Math.max(thin, Math.min(OPEN_LANE, HOST_HEIGHT_MIN / host.leaves.length));
    const height = lane * host.leaves.length;
    laid.hosts.push({ y: laid.height, height, host });
    for (const [at, leaf] of host.leaves.entries()) laid.lanes.push({ y: laid.height + at * lane, height: lane, leaf, host });
    laid.height += height + 4;
  }
  laid.height += 4;
  rows = laid;
}

const laneAt = (y) => rows.lanes[firstBelow(rows.lanes, y)] ?? null;

// The first row whose lower edge is below `y`; rows are sorted from the top down.
function firstBelow(list, y) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].y + list[middle].height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

function openHosts(isOpen) {
  for (const host of hosts) host.isOpen = isOpen;
}
