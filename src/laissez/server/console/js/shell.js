// The frame around every page: navigation, identity, state of the connection.

import { smallButton } from "./components.js";
import { fill, h } from "./dom.js";
import { Feed } from "./feed.js";
import { clock } from "./format.js";
import { Router, href } from "./router.js";
import { current, toggle } from "./theme.js";

const STATES = { connecting: "Connecting", live: "Live", lost: "Connection lost" };

/** Show the pages to the signed-in user. Returns {close()}. */
export function showShell(app, me, pages, { signOut, refused }) {
  const state = h(
    "span",
    { class: "link-state", role: "status", "data-state": "connecting" },
    STATES.connecting,
  );
  const lost = h("div", { class: "lost", role: "alert", hidden: true });
  const links = pages.map((page) => h("a", { href: href(page.path) }, page.name));
  const theme = smallButton("", () => (toggle(), updateTheme()), "plain");
  const main = h("main", { id: "main", tabindex: "-1" });
  const skip = h(
    "a",
    { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), main.focus()) },
    "Skip to content",
  );
  const header = h(
    "header",
    { class: "top" },
    h(
      "div",
      { class: "bar-row" },
      h(
        "a",
        { class: "brand", href: href(pages[0].path), "aria-label": "LaissezCloud, first page" },
        h("img", { src: "/console/icon.svg", alt: "" }),
        h("span", {}, "LaissezCloud"),
      ),
      h("nav", { "aria-label": "Pages" }, links),
      state,
      h(
        "span",
        { class: "who", title: me.holder },
        h("span", { class: "label" }, "Signed in as "),
        h("b", {}, me.holder),
      ),
      theme,
      smallButton("Sign out", signOut, "plain"),
    ),
    lost,
  );

  function updateTheme() {
    const other = current() === "dark" ? "Light" : "Dark";
    fill(theme, other);
    theme.setAttribute("aria-label", `${other} theme`);
  }

  function onState(now, why) {
    state.dataset.state = now;
    fill(state, STATES[now]);
    app.classList.toggle("is-stale", now === "lost");
    if (now === "lost")
      fill(
        lost,
        `No connection since ${clock(Date.now())}. ${why || "The server closed it."} ` +
          "This page may be out of date. Trying again.",
      );
    lost.hidden = now !== "lost";
  }

  updateTheme();
  fill(app, skip, header, main);
  const feed = new Feed(onState, refused);
  const context = {
    me,
    feed,
    mayTrade: me.scopes.includes("trade"),
    mayOperate: me.scopes.includes("operate"),
  };
  const router = new Router(pages, main, context, (page) => {
    pages.forEach(({ path }, i) =>
      path === page.path
        ? links[i].setAttribute("aria-current", "page")
        : links[i].removeAttribute("aria-current"),
    );
    // on a phone the navigation scrolls
    links[pages.indexOf(page)].scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  return {
    close() {
      router.close();
      feed.close();
      app.classList.remove("is-stale");
    },
  };
}
