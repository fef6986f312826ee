// The light or dark theme: the system's choice, unless the user chose another.

const KEPT_AS = "laissez.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export function current() {
  return document.documentElement.dataset.theme;
}

/**
 * Call `listener()` when the theme changes, to redraw a canvas. Returns a function that
 * unsubscribes.
 */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function toggle() {
  const next = current() === "dark" ? "light" : "dark";
  localStorage.setItem(KEPT_AS, next);
  apply();
}

export function apply() {
  document.documentElement.dataset.theme =
    localStorage.getItem(KEPT_AS) ?? (dark.matches ? "dark" : "light");
  for (const listener of listeners) listener();
}

/** A colour of the theme, for drawing on a canvas. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

dark.addEventListener("change", apply);
