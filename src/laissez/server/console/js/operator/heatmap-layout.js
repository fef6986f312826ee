// layout

const CELL_MAX = 112;
const COMFORT = 6; // cells as large as this are worth a map that is longer than the window
const LONGER = 1.8;
const ASPECTS = [1.6, 0.7, 1, 2.4, 4, 8, 20]; // of the larger groups: width for height; the one that lets cells be largest is taken
const RACK_ASPECTS = [2, 1, 4]; // of groups of groups of leaves
const EMPTY = 8; // how much worse a place left empty is than a shape that is not the wanted one
const LEGIBLE = [
  [40_000, 4],
  [250_000, 3],
  [Infinity, 2],
]; // the smallest cell, by how many there are

/**
 * Lay out what is below `view` in `width` x `height` pixels of the screen; `scale` is how many of them make one of CSS.
 * Gives {root, cell, pitch, width, height, first, last, x, y}: boxes {node, x, y, w, h, pad, head, kids, columns}, and the corner of each cell.
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

/** The largest cells that fit; those smaller than `beaten` are of no use. */
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

/** How large a node is: {w, h, pad, head, inner, columns, limit, space}. Trees of one shape are measured once: clusters repeat themselves. */
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
  const pad = node.height > 1 || head ? most : 0; // leaves without a name need no frame
  return { ...content, w: content.w + 2 * pad, h: content.h + 2 * pad + head, pad, head, inner };
}

/** Around and between what is in a group: more on the outside, less for small cells. */
function spaceIn({ height }, { pitch, scale }) {
  return Math.max(
    Math.ceil(scale),
    Math.round(Math.min(scale * (height + 2), (pitch * (height + 1)) / 8)),
  );
}

/** Leaves alone, in rows: eight are four by two. */
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
  const space = spaceIn(node, set) + (node.height === 2 ? set.gap : 0); // what has no frame is told apart by space alone
  const limit =
    node === set.view
      ? inner
      : bestLimit(kids, inner, space, node.height === 2 ? set.rack : set.aspect);
  return { ...wrap(kids, limit, space, () => {}), columns: 0, limit, space };
}

/** How wide the shelves are: near the wanted shape, with few places left empty. Few widths are tried: children may be thousands. */
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

/** One after the other, a new shelf where the width is used up; `put(i, x, y)` says where. Gives how much room that takes. */
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

/** Room for a name, where the box is large enough to spare it. */
function headOf(node, { w, h }, { scale }) {
  const [least, tall] = node.height === 1 ? [50, 30] : node.height === 2 ? [42, 34] : [30, 0];
  return w >= least * scale && h >= tall * scale ? Math.round(15 * scale) : 0;
}

/** Every box in its place, and the corner of every cell. */
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

/** What is at a point: {node, leaf}; `leaf` is -1 beside the cells, `node` the innermost group (or leaf) there. Null outside. */
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

/** The rectangle of a node that is the view's or below it: {x, y, w, h}. */
export function rectangleOf(map, node) {
  if (node.height === 0) {
    const i = node.first - map.first;
    return { x: map.x[i], y: map.y[i], w: map.cell, h: map.cell };
  }
  const way = [];
  for (let up = node; up && up !== map.root.node; up = up.parent) way.unshift(up);
  return way.reduce((box, step) => box.kids.find((kid) => kid.node === step), map.root);
}
