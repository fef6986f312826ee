// Creates and updates DOM elements. No code in the console turns a string into markup.

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set([
  "value",
  "checked",
  "disabled",
  "hidden",
  "selected",
  "indeterminate",
  "htmlFor",
  "className",
]);

/**
 * Create an element: h("button", {class: "button", onclick: act}, "Close"). Children may be nested
 * lists; null and false are skipped.
 */
export function h(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** Create an SVG element. */
export function s(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  return fill(element, ...children);
}

/** Set an attribute, property or listener; null and false remove an attribute. */
function set(element, name, value) {
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "style") Object.assign(element.style, value);
  else if (PROPERTIES.has(name)) element[name] = value;
  else if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : value);
}

/** Replace all children. Returns the parent. */
export function fill(parent, ...children) {
  const isShown = (child) => child !== null && child !== undefined && child !== false;
  parent.replaceChildren(...children.flat(Infinity).filter(isShown));
  return parent;
}

/** Set text only if it differs, so as not to disturb selections and screen readers. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Sync the children of `parent` with `items`. Elements of known keys are updated in place, so focus
 * and selection survive. `make(item)` creates an element; `update(element, item)` runs for all, new
 * ones too.
 */
export function keyed(parent, items, key, make, update) {
  const kept = parent.keyed ?? (parent.keyed = new Map());
  const focused = document.activeElement;
  const wanted = new Set(items.map(key));
  for (const [id, element] of kept) {
    if (!wanted.has(id)) {
      element.remove();
      kept.delete(id);
    }
  }
  let place = parent.firstElementChild;
  for (const item of items) {
    const id = key(item);
    let element = kept.get(id);
    if (!element) {
      element = make(item);
      kept.set(id, element);
    }
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
    update?.(element, item);
  }
  if (focused !== document.activeElement && parent.contains(focused))
    focused.focus({ preventScroll: true }); // moving its row took the focus away
}
