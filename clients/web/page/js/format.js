// Numbers, times and durations in readable form.

import { h } from "./dom.js";

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const none = "–";

export const isNone = (value) => value === null || value === undefined || value === "";

export const number = (value) => (isNone(value) ? none : grouped.format(value));

/** 1234567 as 1.2M; small numbers exactly. */
export const short = (value) => (isNone(value) ? none : Math.abs(value) < 10000 ? grouped.format(value) : compact.format(value));

/** Unfinished jobs of a queue: ~ precedes an estimate, ? means unknown. */
export const backlogText = ({ backlog, is_exact: isExact }) =>
  isNone(backlog) ? "?" : `${isExact ? "" : "~"}${short(Number(backlog))}`;

/** Jobs of a queue that wait for others: counted up to 1000. */
export const heldText = (held) => `${grouped.format(held)}${held >= 1000 ? "+" : ""}`;

/** A rate: small ones with a decimal, because 0.3 is not 0. */
export function rate(value) {
  if (isNone(value)) return none;
  if (value === 0 || value >= 10) return short(Math.round(value));
  return value.toFixed(value < 1 ? 2 : 1);
}

const units = [
  ["d", 86400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

/** Seconds as the two largest units: 1 h 5 min, 12 s, 340 ms. */
export function seconds(value) {
  if (isNone(value)) return none;
  const length = Math.abs(Number(value));
  if (length < 0.0095) return `${(length * 1000).toFixed(length === 0 ? 0 : 1)} ms`;
  if (length < 0.9995) return `${Math.round(length * 1000)} ms`;
  if (length < 9.95) return `${length.toFixed(1)} s`;
  const whole = Math.round(length);
  const largest = units.findIndex(([, size]) => whole >= size);
  const [name, size] = units[largest];
  const rest = units[largest + 1];
  const second = rest ? Math.floor((whole % size) / rest[1]) : 0;
  return `${Math.floor(whole / size)} ${name}${second > 0 ? ` ${second} ${rest[0]}` : ""}`;
}

/** One unit only, for ages. */
const roughly = (length) => {
  const [name, size] = units.find(([, size]) => length >= size) ?? ["s", 1];
  return `${Math.floor(length / size)} ${name}`;
};

export function bytes(value) {
  if (isNone(value)) return none;
  const names = ["B", "kB", "MB", "GB", "TB"];
  const power = value < 1 ? 0 : Math.min(names.length - 1, Math.floor(Math.log2(value) / 10));
  const scaled = value / 1024 ** power;
  return `${scaled < 10 && power > 0 ? scaled.toFixed(1) : Math.round(scaled)} ${names[power]}`;
}

export const percent = (value) => (isNone(value) ? none : `${Number(Number(value).toFixed(1))} %`);

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockWithSeconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const whole = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" });

export const clockTime = (milliseconds, withSeconds = false) => (withSeconds ? clockWithSeconds : clock).format(milliseconds);

/** A time in the viewer's zone: 2026-11-26 02:40:13. */
export const moment = (iso) => (isNone(iso) ? none : whole.format(new Date(iso)));

// The difference between the server's clock and the viewer's: ages use the server's clock.
let ahead = 0;
export const setServerTime = (iso) => void (ahead = Date.parse(iso) - Date.now());
export const serverTime = () => Date.now() + ahead;

/** How long ago, or in how long. */
export function age(iso) {
  if (isNone(iso)) return none;
  const length = (serverTime() - Date.parse(iso)) / 1000;
  if (Math.abs(length) < 1) return "now";
  return length > 0 ? `${roughly(length)} ago` : `in ${roughly(-length)}`;
}

/** A time element that shows its age, and the time itself as a tooltip. keepAges() keeps it current. */
export const ago = (iso) => (isNone(iso) ? none : h("time", { datetime: iso, title: moment(iso), "data-age": true }, age(iso)));

export const isAhead = (iso) => !isNone(iso) && Date.parse(iso) > serverTime();

const comes = (iso) => (isAhead(iso) ? age(iso) : "now");

/** The same for a time ahead, which is now when it has come. */
export const inTime = (iso) => h("time", { datetime: iso, title: moment(iso), "data-age": "ahead" }, comes(iso));

export const timeOf = (iso) => (isNone(iso) ? none : h("time", { datetime: iso, title: age(iso) }, moment(iso)));

export function keepAges() {
  for (const element of document.querySelectorAll("time[data-age]")) {
    const text = (element.dataset.age === "ahead" ? comes : age)(element.dateTime);
    if (element.textContent !== text) element.textContent = text;
  }
}

export const plural = (count, one, many = `${one}s`) => `${number(count)} ${Number(count) === 1 ? one : many}`;

/** A text of the server in which "1 job(s)" becomes 1 job, and "2 job(s)" 2 jobs. */
export const withPlurals = (text) =>
  String(text).replace(/(\d[\d,]*) ([\w ]*\w)\(s\)/g, (_, count, one) => `${count} ${one}${count === "1" ? "" : "s"}`);

/** The beginning of a long text. */
export const firstLine = (text, longest = 200) => {
  const line = String(text).split("\n")[0];
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
};

/** What a process waits for, as in pg_stat_activity: Lock: advisory. */
export const waitEvent = ({ wait_event_type: type, wait_event: event }) => (isNone(event) ? null : `${type}: ${event}`);

/** The expected end at the rate since the start: an ISO time, or nothing if it is not known. */
export function expectedEnd({ done, total }, began, reported) {
  if (isNone(total) || Number(done) <= 0 || isNone(began)) return null;
  const [from, to] = [Date.parse(began), Date.parse(reported)];
  return new Date(to + ((to - from) * (total - done)) / done).toISOString();
}
