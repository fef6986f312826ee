// Which page is shown: the part of the address after "#/". It never holds anything secret.

/**
 * Pages are {path, name, mount(main, context)}; `mount` gives {show(rest), close()}, both optional. `rest` is what follows the page's own path;
 * `show` may give a name for what it shows, which goes before the page's own in the window's title.
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
    if (!document.activeElement?.checkVisibility()) this.main.focus({ preventScroll: true }); // what had the focus is no longer shown
  }

  close() {
    window.removeEventListener("hashchange", this.moved);
    this.mounted?.close?.();
  }
}

/** An address that somebody has cut off is taken as it is. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page, with what follows: href("map", "h100/zone-a"). */
export function href(path, rest = "") {
  const parts = [path, ...(rest ? rest.split("/") : [])];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}
