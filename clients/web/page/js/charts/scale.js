// Positions of values, and of the lines of the grid.

/** Round values from 0 to the first one that is not below the largest: 1, 2 or 5 times a power of
    ten apart, and at least `least`. */
export function ticks(largest, { most = 4, least = 0 } = {}) {
  if (!(largest > 0)) return [0, 1];
  const rough = Math.max(largest / most, least);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const list = [0];
  while (list.at(-1) < largest * 0.999) list.push(Number((list.length * step).toPrecision(12)));
  return list;
}

/** The labels of ticks: formatted as everywhere, unless two of them would be equal. */
export function labels(levels, format) {
  const texts = levels.map(format);
  return new Set(texts).size === texts.length ? texts : levels.map((level) => String(Number(level.toPrecision(6))));
}

/** Round times in a range, with a step so large that at most this many fit. */
export function timeTicks(from, to, most) {
  const steps = [5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600].map((size) => size * 1000);
  const step = steps.find((size) => (to - from) / size <= most) ?? steps.at(-1);
  const list = [];
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) list.push(time);
  return list;
}

/** Full hours in a range, so many apart, as clocks of the viewer show them: 0:00, 6:00 and so on. */
export function hours(from, to, step) {
  const time = new Date(from);
  time.setHours(0, 0, 0, 0);
  const list = [];
  for (; time.getTime() <= to; time.setHours(time.getHours() + step)) if (time.getTime() >= from) list.push(time.getTime());
  return list;
}

/** Positions of values: runs of points, because null is a gap. x: of an index; y: of a value. */
export function runs(values, x, y) {
  const list = [[]];
  values.forEach((value, index) => {
    if (value === null) list.push([]);
    else list.at(-1).push([x(index), y(value)]);
  });
  return list.filter((run) => run.length > 0);
}

/** A line through points, as an SVG path. */
export const line = (points) =>
  points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** The area between this line and the base. */
export const area = (points, base) =>
  `${line(points)}L${points.at(-1)[0].toFixed(1)} ${base.toFixed(1)}L${points[0][0].toFixed(1)} ${base.toFixed(1)}Z`;
