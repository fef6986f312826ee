// Timers: polling, a tick every second, throttled calls.

import { Problem, isTemporary } from "./api.js";

const AGAIN_MS = 2000; // after a temporary error

/**
 * Call `ask` now and `everyMs` after each answer, except while the tab is hidden. Returns {now(),
 * stop()}.
 */
export function poll(ask, everyMs) {
  let timer = null;
  let stopped = false;
  let asking = false;
  let again = false;

  async function turn() {
    clearTimeout(timer);
    if (stopped) return;
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    let pause = everyMs;
    try {
      await ask();
    } catch (problem) {
      // the shell shows a lost connection; try again soon
      if (!(problem instanceof Problem)) throw problem;
      if (isTemporary(problem)) pause = Math.min(AGAIN_MS, everyMs);
    } finally {
      asking = false;
      if (again) {
        again = false;
        timer = setTimeout(turn, 0);
      } else if (!stopped) {
        timer = setTimeout(() => !document.hidden && turn(), pause);
      }
    }
  }

  const seen = () => !document.hidden && turn();
  document.addEventListener("visibilitychange", seen);
  queueMicrotask(turn); // `ask` may use the returned object
  return {
    now: turn,
    stop() {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    },
  };
}

/** Call `act` every second while the tab is visible. Returns a function that stops it. */
export function everySecond(act) {
  const timer = setInterval(() => !document.hidden && act(), 1000);
  return () => clearInterval(timer);
}

/** Throttle `act` to once per `ms`; the last call is never lost. `stop()` drops a pending call. */
export function throttled(act, ms) {
  let waiting = null;
  let last = 0;
  function turn() {
    if (waiting !== null) return;
    waiting = setTimeout(
      () => {
        waiting = null;
        last = Date.now();
        act();
      },
      Math.max(0, last + ms - Date.now()),
    );
  }
  turn.stop = () => clearTimeout(waiting);
  return turn;
}
