// Rates and breakers of queues and job types, in words.

import { h, hiddenText } from "../dom.js";
import { inTime, isAhead, isNone } from "../format.js";
import { badge } from "./badge.js";

const ofThem = (...words) => h("span", { class: "of-them" }, words);

/** The used part of a rate: 30 of 100/min; nothing without a rate. */
export const rateOf = ({ rate_limit: limit, rate_used: used }) => (isNone(limit) ? null : `${Number(used)} of ${limit}`);

/** When the next job may start, if that time lies ahead. */
export const turnOf = ({ rate_limit: limit, next_turn: turn }) => (!isNone(limit) && isAhead(turn) ? turn : null);

/** Both as small lines, for a cell: rateLines({ rate, turn }). */
export const rateLines = ({ rate, turn }) =>
  rate ? [ofThem(hiddenText("rate "), rate), turn ? ofThem("next turn ", inTime(turn)) : null] : [];

/** A breaker that is not closed, with when a job tries: breakerMark({ state, until }). */
export const breakerMark = ({ state, until }) =>
  state === "closed"
    ? []
    : [
        h("span", { class: "below" }, badge(`breaker ${state}`)),
        state === "open" && isAhead(until) ? ofThem("one job tries ", inTime(until)) : null,
      ];

/** The value of a cell that shows it. */
export const breakerOf = ({ breaker_state: state, breaker_until: until }) => ({ state, until });
