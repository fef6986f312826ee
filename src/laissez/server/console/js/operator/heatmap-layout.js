// Lays out the heatmap: GPUs are squares of one size, groups are boxes around them, wrapped like
// words. The squares are as large as the height allows; below the smallest legible size, the map
// grows longer instead.

const CELL_MAX = 112;
const COMFORT = 6; // to get cells of this size, the map may be longer than the window
const LONGER = 1.8;
// width to height of groups; the ratio with the largest cells wins
const ASPECTS = [1.6, 0.7, 1, 2.4, 4, 8, 20];
const RACK_ASPECTS = [2, 1, 4]; // the same for groups whose children hold GPUs
const EMPTY = 8; // penalty for empty places, relative to the penalty for a wrong shape
const LEGIBLE = [
  [40_000, 4],
  [250_000, 3],
  [Infinity, 2],
]; // [cells, size of the smallest legible cell]

/**
 * Lay out the subtree of `view` in `width` x `height` device pixels; `scale` is device pixels per
 * CSS pixel. Returns {root, cell, pitch, width, height, first, last, x, y}: `root` is a tree of
 * boxes {node, x, y, w, h, pad, head, kids, columns}, `x` and `y` are the corners of the cells.
 */
export function layOut(view, width, height, scale) {
  const fits = bestFit(view, width, height, scale, CELL_MAX * scale);
  const isSmall = fits.pitch < COMFORT * scale;
  return placed(isSmall ? bestFit(view, width, height * LONGER, scale, COMFORT * scale) : fits);
}

function bestFit(view, width, height, scale, most) {
  const count = view.last - view.first;
  const least = scale * LEGIBLE.find(([leaves]) => count <= leaves)[1];
  const guess = Math.min(most, Math.sqrt((width * height) / count));
  let best = null;
  for (const aspect of view.height > 2 ? ASPECTS : ASPECTS.slice(0, 1)) {
    for (const rack of RACK_ASPECTS) {
      const tried = largest(
        { view, width, height, scale, aspect, rack, least },
        guess,
        best?.pitch ?? 0,
      );
      if (
        !best ||
        tried.pitch > best.pitch ||
        (tried.pitch === best.pitch && tried.size.h < best.size.h)
      )
        best = tried;
    }
  }
  return best;
}

/** Find the largest cells that fit; stop below `beaten`. */
function largest(bounds, guess, beaten) {
  for (let pitch = Math.floor(guess); ; pitch--) {
    const cell = Math.max(bounds.least, pitch);
    const set = {
      ...bounds,
      pitch: cell,
      gap: Math.max(1, Math.round(cell * 0.09)),
      sizes: new Map(),
    };
    const size = measure(bounds.view, bounds.width, set);
    if (size.h <= bounds.height || cell === bounds.least || cell < beaten) return { ...set, size };
  }
}

/**
 * Measure a node: {w, h, pad, head, inner, columns, limit, space}. Subtrees of the same shape are
 * measured once, because clusters are regular.
 */
function measure(node, room, set) {
  const key = `${node.shape} ${room} ${node === set.view}`;
  if (!set.sizes.has(key))
    set.sizes.set(key, node.height === 0 ? leaf(set) : framed(node, room, set));
  return set.sizes.get(key);
}

function leaf({ pitch, gap }) {
  return {
    w: pitch - gap,
    h: pitch - gap,
    pad: 0,
    head: 0,
    inner: 0,
    columns: 0,
    limit: 0,
    space: 0,
  };
}

function framed(node, room, set) {
  const most = node === set.view ? 0 : spaceIn(node, set);
  const inner = Math.max(set.pitch, room - 2 * most);
  const content = node.height === 1 ? block(node, inner, set) : shelves(node, inner, set);
  const head = node === set.view ? 0 : headOf(node, content, set);
  const pad = node.height > 1 || head ? most : 0; // unnamed groups of GPUs need no frame
  return { ...content, w: content.w + 2 * pad, h: content.h + 2 * pad + head, pad, head, inner };
}

/** The padding of a group: more for outer groups, less for small cells. */
function spaceIn({ height }, { pitch, scale }) {
  return Math.max(
    Math.ceil(scale),
    Math.round(Math.min(scale * (height + 2), (pitch * (height + 1)) / 8)),
  );
}

/** GPUs in rows: eight are four by two. */
function block(node, inner, { pitch, gap }) {
  const count = node.last - node.first;
  const wanted =
    count <= 32 ? 2 ** Math.ceil(Math.log2(Math.sqrt(count))) : Math.ceil(Math.sqrt(count * 1.6));
  const columns = Math.max(1, Math.min(wanted, count, Math.floor((inner + gap) / pitch)));
  return {
    w: columns * pitch - gap,
    h: Math.ceil(count / columns) * pitch - gap,
    columns,
    limit: 0,
    space: 0,
  };
}

function shelves(node, inner, set) {
  const kids = node.children.map((child) => measure(child, inner, set));
  // only space separates groups without a frame
  const space = spaceIn(node, set) + (node.height === 2 ? set.gap : 0);
  const limit =
    node === set.view
      ? inner
      : bestLimit(kids, inner, space, node.height === 2 ? set.rack : set.aspect);
  return { ...wrap(kids, limit, space, () => {}), columns: 0, limit, space };
}

/**
 * Choose the width of the shelves: near the wanted aspect ratio, with few empty places. Try few
 * widths, because there may be thousands of children.
 */
function bestLimit(kids, inner, space, aspect) {
  const wide = kids.reduce((widest, { w }) => Math.max(widest, w), 0) + space;
  const tall = kids.reduce((sum, { h }) => sum + h + space, 0) / kids.length;
  const most = Math.max(1, Math.min(kids.length, Math.floor((inner + space) / wide)));
  const middle = Math.min(most, Math.round(Math.sqrt((aspect * kids.length * tall) / wide)));
  let best = most;
  let lowest = Infinity;
  for (let columns = Math.max(1, middle - 4); columns <= Math.min(most, middle + 4); columns++) {
    const rows = Math.ceil(kids.length / columns);
    const shape = Math.abs(Math.log((columns * wide) / (rows * tall) / aspect));
    const score = shape + EMPTY * (1 - kids.length / (rows * columns));
    if (score < lowest) [best, lowest] = [columns, score];
  }
  return best * wide - space;
}

/**
 * Place boxes one after the other and start a new shelf when a row is full. Calls `put(i, x, y)`
 * for each box. Returns the size {w, h}.
 */
function wrap(kids, limit, space, put) {
  let [x, y, tall, wide] = [0, 0, 0, 0];
  kids.forEach(({ w, h }, i) => {
    if (x > 0 && x + w > limit) [x, y, tall] = [0, y + tall + space, 0];
    put(i, x, y);
    wide = Math.max(wide, x + w);
    x += w + space;
    tall = Math.max(tall, h);
  });
  return { w: wide, h: y + tall };
}

/** The height of a group's name; 0 if the box is too small for one. */
function headOf(node, { w, h }, { scale }) {
  const [least, tall] = node.height === 1 ? [50, 30] : node.height === 2 ? [42, 34] : [30, 0];
  return w >= least * scale && h >= tall * scale ? Math.round(15 * scale) : 0;
}

/** Place every box, and record the corner of every cell. */
function placed(set) {
  const { view, width, pitch, gap, size } = set;
  const count = view.last - view.first;
  const corners = {
    first: view.first,
    last: view.last,
    x: new Int32Array(count),
    y: new Int32Array(count),
  };
  const map = { root: null, cell: pitch - gap, pitch, width, height: size.h, ...corners };
  map.root = box(view, width, 0, 0, set, map);
  return map;
}

function box(node, room, x, y, set, map) {
  const { w, h, pad, head, inner, columns, limit, space } = measure(node, room, set);
  const made = { node, x, y, w, h, pad, head, columns, kids: null };
  const [left, top] = [x + pad, y + pad + head];
  if (node.height < 2) cells(node, left, top, columns || 1, map);
  else {
    made.kids = [];
    const sizes = node.children.map((child) => measure(child, inner, set));
    wrap(sizes, limit, space, (i, dx, dy) =>
      made.kids.push(box(node.children[i], inner, left + dx, top + dy, set, map)),
    );
  }
  return made;
}

function cells({ first, last }, left, top, columns, map) {
  for (let i = first; i < last; i++) {
    map.x[i - map.first] = left + ((i - first) % columns) * map.pitch;
    map.y[i - map.first] = top + Math.floor((i - first) / columns) * map.pitch;
  }
}

/**
 * Find the cell at a point: {node, leaf}. `node` is the innermost group; `leaf` is the index of the
 * GPU, -1 between cells. Null outside the map.
 */
export function hitTest(map, x, y) {
  let box = map.root;
  if (!within(box, x, y)) return null;
  while (box.kids) {
    const inner = box.kids.find((kid) => within(kid, x, y));
    if (!inner) return { node: box.node, leaf: -1 };
    box = inner;
  }
  return { node: box.node, leaf: leafAt(box, map, x, y) };
}

function leafAt(box, map, x, y) {
  const { first, last } = box.node;
  if (!box.columns) return first;
  const column = Math.floor((x - box.x - box.pad) / map.pitch);
  const row = Math.floor((y - box.y - box.pad - box.head) / map.pitch);
  const i = first + row * box.columns + column;
  return column >= 0 && column < box.columns && row >= 0 && i < last ? i : -1;
}

function within({ x, y, w, h }, px, py) {
  return px >= x && px < x + w && py >= y && py < y + h;
}

/** The rectangle {x, y, w, h} of the view or a node below it. */
export function rectangleOf(map, node) {
  if (node.height === 0) {
    const i = node.first - map.first;
    return { x: map.x[i], y: map.y[i], w: map.cell, h: map.cell };
  }
  const way = [];
  for (let up = node; up && up !== map.root.node; up = up.parent) way.unshift(up);
  return way.reduce((box, step) => box.kids.find((kid) => kid.node === step), map.root);
}
