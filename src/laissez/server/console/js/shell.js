// The frame around every page: where one can go, who one is, and whether the connection lives.

import { fill, h } from "./dom.js";
import { Feed } from "./feed.js";
import { clock } from "./format.js";
import { Router, href } from "./router.js";
import { current, toggle } from "./theme.js";

const STATES = { connecting: "Connecting", live: "Live", lost: "Connection lost" };

/** Show the pages to whoever is signed in. Gives {close()}. */
export function showShell(app, me, pages, { signOut, refused }) {
  const state = h(
    "span",
    { class: "link-state", role: "status", "data-state": "connecting" },
    STATES.connecting,
  );
  const lost = h("div", { class: "lost", role: "alert", hidden: true });
  const links = pages.map((page) => h("a", { href: href(page.path) }, page.name));
  const theme = h("button", {
    class: "button plain small",
    type: "button",
    onclick: () => (toggle(), sayTheme()),
  });
  const main = h("main", { id: "main", tabindex: "-1" });
  const skip = h(
    "a",
    { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), main.focus()) },
    "Skip to the content",
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
      h("button", { class: "button plain small", type: "button", onclick: signOut }, "Sign out"),
    ),
    lost,
  );

  function sayTheme() {
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
        `No connection since ${clock(Date.now())}. ${why || "The server ended it."} What you see may be old; trying again.`,
      );
    lost.hidden = now !== "lost";
  }

  sayTheme();
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
    links[pages.indexOf(page)].scrollIntoView({ block: "nearest", inline: "nearest" }); // on a phone not all have room
  });
  return {
    close() {
      router.close();
      feed.close();
      app.classList.remove("is-stale");
    },
  };
}
