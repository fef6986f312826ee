// Light or dark: the system's choice unless somebody made another one here.

const KEPT_AS = "laissez.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export function current() {
  return document.documentElement.dataset.theme;
}

/** `listener()` is called when the theme changes, for what is drawn on a canvas. Gives what to call to stop. */
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

/** The value of a colour of the theme, for a canvas. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

dark.addEventListener("change", apply);
