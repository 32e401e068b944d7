// Words with a colour, never only a colour.

import { h } from "../dom.js";

const tones = {
  waiting: "calm",
  held: "calm",
  running: "active",
  succeeded: "good",
  failed: "bad",
  cancelled: "off",
  expired: "odd",
  skipped: "off",
  // states of a batch
  open: "calm",
  finished: "good",
  abandoned: "warn",
  healthy: "good",
  unknown: "off",
  degraded: "warn",
  unhealthy: "bad",
  active: "good",
  inactive: "off",
  idle: "calm",
  requested: "calm",
  starting: "calm",
  unresponsive: "bad",
  ended: "off",
  alarm: "bad",
  information: "calm",
  handled: "good",
  redriven: "active",
  dismissed: "off",
  paused: "warn",
  "breaker open": "warn",
  "breaker half open": "warn",
  draining: "warn",
  // states of a queue, as in hipq.activity
  "being dropped": "off",
  "held: crashed": "bad",
  "at its limit": "warn",
  locked: "bad",
  "no worker": "bad",
  late: "bad",
  runs: "active",
  waits: "calm",
};

/** The outcome of a job; a waiting job that waits for other jobs is held. */
export const outcomeWord = ({ outcome, is_held: isHeld }) => (isHeld ? "held" : outcome);

// "1 type paused" has the colour of "paused".
export const badge = (word, tone = tones[word] ?? (/ paused$/.test(word) ? "warn" : "calm")) => h("span", { class: `badge is-${tone}` }, word);
