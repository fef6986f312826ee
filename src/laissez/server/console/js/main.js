// Where the console begins: who are we, and which pages are for us?

import { Problem, change, get, onSignedOut } from "./api.js";
import { closeDialogs, toast } from "./dialogs.js";
import { fill, h } from "./dom.js";
import { showShell } from "./shell.js";
import { showSignIn } from "./signin.js";
import { apply } from "./theme.js";

const AGAIN_MS = 2000;
const app = document.getElementById("app");
const windows = new BroadcastChannel("laissez.signin"); // all windows have one cookie
let shell = null;
let mine = null; // who this window says that we are

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
    setTimeout(isOurs ? begin : () => location.reload(), AGAIN_MS); // a module that failed to load is not asked for again without a reload
  }
}

/** The pages of the operator are fetched by the operator alone. */
async function enter(me) {
  mine = identity(me);
  const { pages } = await (me.holder === "operator"
    ? import("./operator/pages.js")
    : import("./tenant/pages.js"));
  shell = showShell(app, me, pages, { signOut, refused: (problem) => leave(problem.message) });
}

/** Somebody signed in here: no other window may go on under another name. */
function entered(me) {
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
  showSignIn(app, entered, why);
}

onSignedOut(() => {
  if (shell) leave("You were signed out: sign in again.");
});
windows.onmessage = ({ data }) => {
  if (data !== mine) location.reload();
};
apply();
begin();
