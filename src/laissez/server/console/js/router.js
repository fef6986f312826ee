// Routes by the part of the URL after "#/", which never holds a secret.

/**
 * Pages are {path, name, mount(main, context)}; `mount` returns {show(rest), close()}, both
 * optional. `rest` has the parts of the URL after the page's path. `show` may return a name, which
 * precedes the page's name in the title.
 */
export class Router {
  constructor(pages, main, context, onPage) {
    this.pages = pages;
    this.main = main;
    this.context = context;
    this.onPage = onPage;
    this.page = null;
    this.mounted = null;
    this.moved = () => this.go();
    window.addEventListener("hashchange", this.moved);
    this.go();
  }

  go() {
    const [first, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
    const known = this.pages.find(({ path }) => path === first);
    const page = known ?? this.pages[0];
    if (page !== this.page) {
      this.mounted?.close?.();
      const isFirst = this.page === null;
      this.page = page;
      this.main.replaceChildren();
      this.mounted = page.mount(this.main, this.context);
      this.onPage(page);
      if (!isFirst) this.main.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    const shown = this.mounted?.show?.(known ? rest : []);
    document.title = `${shown ? `${shown} · ` : ""}${page.name} · LaissezCloud`;
    // the focused element is no longer shown
    if (!document.activeElement?.checkVisibility()) this.main.focus({ preventScroll: true });
  }

  close() {
    window.removeEventListener("hashchange", this.moved);
    this.mounted?.close?.();
  }
}

/** Decode a part of the URL. A truncated escape is taken literally. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The URL of a page: href("map", "h100/zone-a"). */
export function href(path, rest = "") {
  const parts = [path, ...(rest ? rest.split("/") : [])];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}
