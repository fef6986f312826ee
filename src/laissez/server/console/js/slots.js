// A browser opens only six connections to a server that speaks HTTP/1.1, for all its windows together. Streams that last must leave some of them free,
// or nothing else is answered: so the windows share a few places for streams among them.

const PLACES = 4;

/** Where connections carry many requests at once (HTTP/2 and later), or there are no locks, everybody has a place. */
function isNeeded() {
  const isShared = performance
    .getEntries()
    .some(({ nextHopProtocol: protocol }) => protocol === "h2" || protocol === "h3");
  return Boolean(navigator.locks) && !isShared;
}

/** Take a place. Gives what to call to give it back, or null if all are taken. */
export async function takePlace() {
  if (!isNeeded()) return () => {};
  for (let place = 0; place < PLACES; place++) {
    const release = await tried(`laissez.stream.${place}`);
    if (release) return release;
  }
  return null;
}

function tried(name) {
  return new Promise((told) => {
    navigator.locks.request(name, { ifAvailable: true }, (lock) =>
      lock ? new Promise((release) => told(release)) : told(null),
    );
  });
}
