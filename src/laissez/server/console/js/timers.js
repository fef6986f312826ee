// Timers: polling, a tick every second, throttled calls.

import { Problem, isPassing } from "./api.js";

const AGAIN_MS = 2000; // after what passes soon

/** Call `ask` now and every `everyMs` after each answer, not while the tab is hidden. Gives {now(), stop()}. */
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
      if (!(problem instanceof Problem)) throw problem; // the state of the connection is shown elsewhere; it is asked again soon
      if (isPassing(problem)) pause = Math.min(AGAIN_MS, everyMs);
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
  queueMicrotask(turn); // whoever asks may need what is returned here
  return {
    now: turn,
    stop() {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    },
  };
}

/** Call `act` every second while somebody looks. Gives what to call to stop. */
export function everySecond(act) {
  const timer = setInterval(() => !document.hidden && act(), 1000);
  return () => clearInterval(timer);
}

/** `act`, but at most once in `ms`; the last call is never lost. Its `stop()` forgets what waits. */
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
