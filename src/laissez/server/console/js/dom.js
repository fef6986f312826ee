// Making elements. Text is always set as text: nothing here, or anywhere in the console, turns a string into markup.

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

/** An element: h("button", {class: "button", onclick: act, "aria-label": "Close"}, "Close"). Children may be nested lists; null and false are left out. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  element.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Set one attribute, property or listener; null and false remove it. */
function set(element, name, value) {
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "style") Object.assign(element.style, value);
  else if (PROPERTIES.has(name)) element[name] = value;
  else if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : value);
}

/** Replace all children. */
export function fill(parent, ...children) {
  parent.replaceChildren(
    ...children
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false),
  );
  return parent;
}

/** Set text only where it differs, so that selections and screen readers are left alone. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Keep the children of `parent` in step with `items`: what stays is updated in place (focus and selection survive), the rest is made or removed.
 * `make(item)` gives an element; `update(element, item)` brings it up to date and is also called for new ones.
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
    focused.focus({ preventScroll: true }); // its row was moved
}
