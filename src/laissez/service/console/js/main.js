// Where the console begins: who are we, and which pages are for us?

import { change, get, onSignedOut } from "./api.js";
import { fill, h } from "./dom.js";
import { showShell } from "./shell.js";
import { showSignIn } from "./signin.js";
import { apply } from "./theme.js";

const AGAIN_MS = 2000;
const app = document.getElementById("app");
let shell = null;

async function begin() {
  try {
    await enter(await get("/v1/me"));
  } catch (problem) {
    if (problem.status === 401) return; // the form is shown already
    fill(app, h("main", {}, h("p", { class: "problem", role: "alert" }, `${problem.message} Trying again.`)));
    setTimeout(begin, AGAIN_MS);
  }
}

/** The pages of the operator are fetched by the operator alone. */
async function enter(me) {
  const { pages } = await (me.holder === "operator" ? import("./operator/pages.js") : import("./tenant/pages.js"));
  shell = showShell(app, me, pages, { signOut, refused: (problem) => leave(problem.message) });
}

async function signOut() {
  await change("DELETE", "/v1/signin");
  location.hash = "";
  leave("");
}

function leave(why) {
  shell?.close();
  shell = null;
  showSignIn(app, enter, why);
}

onSignedOut(() => {
  if (shell) leave("You were signed out: sign in again.");
  else if (!app.querySelector("form")) leave("");
});
apply();
begin();
