// The sign-in form. It sends the key once, in the body of a request, and does not keep it. The
// server answers with a cookie that scripts cannot read.

import { change } from "./api.js";
import { fill, h } from "./dom.js";

/** Show the form. Calls `done(me)` after signing in. `why` is the reason for signing in again. */
export function showSignIn(app, done, why = "") {
  const key = h("input", {
    id: "key",
    class: "input",
    type: "password",
    autocomplete: "current-password",
    autocapitalize: "off",
    spellcheck: "false",
    required: true,
  });
  const problem = h("p", { class: "problem", role: "alert", hidden: !why }, why);
  const button = h("button", { class: "button primary", type: "submit" }, "Sign in");
  const form = h(
    "form",
    { onsubmit: submit, "aria-labelledby": "signin-title" },
    h("div", { class: "brand" }, h("img", { src: "/console/icon.svg", alt: "" }), "LaissezCloud"),
    h("h1", { id: "signin-title" }, "Sign in"),
    h(
      "div",
      { class: "field" },
      h("label", { for: "key" }, "Your key"),
      key,
      h("span", { class: "hint" }, "Keys begin with lz_. You get yours from the operator."),
    ),
    problem,
    button,
    h("p", { class: "small soft" }, "For programs: ", h("a", { href: "/docs" }, "the API"), "."),
  );

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    problem.hidden = true;
    try {
      const me = await change("POST", "/v1/signin", { key: key.value.trim() });
      key.value = "";
      await done(me);
    } catch (error) {
      fill(problem, error.status === 401 ? "This key is unknown or was revoked." : error.message);
      problem.hidden = false;
      button.disabled = false;
      key.select();
    }
  }

  document.title = "Sign in · LaissezCloud";
  fill(app, h("main", { class: "signin" }, form));
  key.focus();
}
