// The live figures: the stream of events, and the latest overview.

import { setServerTime } from "./format.js";
import { History } from "./history.js";

export const live = { latest: null, history: new History(), state: "connecting" };

const listeners = new Set();
const patience = 30_000; // a hidden tab keeps the stream this long
let source = null;
let whenAwake = null; // reopens the stream
let sleep = null;

/** Calls back at once if there is an event, and for each new event or change of the connection.
    Returns a function that stops this. */
export function listen(callback) {
  listeners.add(callback);
  if (live.latest) callback();
  return () => listeners.delete(callback);
}

function tell() {
  for (const callback of [...listeners]) callback();
}

function setState(state, reason = null) {
  if (live.state === state && live.reason === reason) return;
  Object.assign(live, { state, reason });
  tell();
}

// Most events have only the queues that changed since the previous one.
function merged(before, overview) {
  if (overview.whole !== false || !before) return overview;
  const changed = new Map(overview.queues.map((queue) => [queue.queue, queue]));
  const queues = before.queues.map((queue) => {
    const latest = changed.get(queue.queue) ?? queue;
    changed.delete(queue.queue);
    return latest;
  });
  return { ...overview, queues: [...queues, ...changed.values()] };
}

/** Opens the stream of events. whenLost is called when it breaks: the session may be over. */
export function connect(whenLost) {
  Object.assign(live, { latest: null, history: new History() });
  setState("connecting");
  open(whenLost);
}

function open(whenLost) {
  disconnect();
  whenAwake = () => open(whenLost);
  source = new EventSource("api/events");
  source.addEventListener("overview", (event) => {
    live.latest = merged(live.latest, JSON.parse(event.data));
    setServerTime(live.latest.now);
    live.history.add(live.latest);
    Object.assign(live, { state: "live", reason: null });
    tell();
  });
  source.addEventListener("bye", (event) => {
    disconnect();
    setState("ended", JSON.parse(event.data).reason);
    whenLost();
  });
  // The browser reopens it by itself, unless the server has refused it.
  source.addEventListener("error", () => {
    if (source?.readyState === EventSource.CLOSED) {
      disconnect();
      setTimeout(whenLost, 1000);
    }
    setState("lost");
  });
}

export function disconnect() {
  source?.close();
  source = null;
  whenAwake = null;
}

// A browser opens at most six connections to a server: a hidden tab gives its own back.
document.addEventListener("visibilitychange", () => {
  clearTimeout(sleep);
  if (document.hidden) {
    sleep = setTimeout(() => {
      source?.close();
      source = null;
    }, patience);
  } else if (!source) whenAwake?.();
});
