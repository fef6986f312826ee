// Starts the console: shows the sign-in form, or the pages of the operator or tenant.

import { Problem, change, get, onSignedOut } from "./api.js";
import { closeDialogs, toast } from "./dialogs.js";
import { fill, h } from "./dom.js";
import { showShell } from "./shell.js";
import { showSignIn } from "./signin.js";
import { apply } from "./theme.js";

const AGAIN_MS = 2000;
const app = document.getElementById("app");
const windows = new BroadcastChannel("laissez.signin"); // all windows share one cookie
let shell = null;
let mine = null; // the identity that this window shows

async function begin() {
  try {
    const { me } = await get("/v1/signin");
    if (me) await enter(me);
    else leave("");
  } catch (problem) {
    const isOurs = problem instanceof Problem;
    fill(
      app,
      h(
        "main",
        {},
        h(
          "p",
          { class: "problem", role: "alert" },
          `${isOurs ? problem.message : "The page could not be loaded."} Trying again.`,
        ),
      ),
    );
    // browsers import a failed module again only after a reload
    setTimeout(isOurs ? begin : () => location.reload(), AGAIN_MS);
  }
}

/** Load and show the pages. Only the operator's browser loads the operator's modules. */
async function enter(me) {
  mine = identity(me);
  const { pages } = await (me.holder === "operator"
    ? import("./operator/pages.js")
    : import("./tenant/pages.js"));
  shell = showShell(app, me, pages, { signOut, refused: (problem) => leave(problem.message) });
}

/** Tell the other windows about a sign-in: they must not continue under another identity. */
function signedIn(me) {
  windows.postMessage(identity(me));
  return enter(me);
}

function identity({ holder, scopes }) {
  return JSON.stringify([holder, scopes]);
}

async function signOut() {
  try {
    await change("DELETE", "/v1/signin");
  } catch (problem) {
    toast(`You are still signed in: ${problem.message}`, "bad");
    return;
  }
  location.hash = "";
  leave("");
}

function leave(why) {
  shell?.close();
  shell = null;
  mine = null;
  closeDialogs();
  showSignIn(app, signedIn, why);
}

onSignedOut(() => {
  if (shell) leave("You were signed out. Sign in again.");
});
windows.onmessage = ({ data }) => {
  if (data !== mine) location.reload();
};
apply();
begin();
