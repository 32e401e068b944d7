// The conditions of the search for jobs, and the results so far. They are kept here, in memory, and
// never in the URL: only the viewer may see keys and data of jobs.

const nothing = { queue: "", job_type: "", outcome: "", job_key: "", error: "", from: "", to: "", contains: "", trace: "" };

export const search = { wanted: { ...nothing }, jobs: [], next: null, isPartial: false, isByQueue: false, isDone: false };

/** Forgets the results. */
export function startAnew(wanted) {
  Object.assign(search, {
    wanted: { ...nothing, ...wanted },
    jobs: [],
    next: null,
    isPartial: false,
    isByQueue: false,
    isDone: false,
  });
}

/** The next opened page of jobs searches for these. */
export const searchFor = startAnew;

const isoOf = (local) => new Date(local).toISOString();

/** The search in the server's format. Throws if the JSON is invalid. */
export function requestOf(wanted, after, limit) {
  const { from, to, contains, ...words } = wanted;
  const request = Object.fromEntries(Object.entries(words).filter(([, value]) => value !== ""));
  if (from) request.from = isoOf(from);
  if (to) request.to = isoOf(to);
  if (contains) request.contains = checked(contains);
  return { ...request, limit, after };
}

// As a text, because JavaScript would round its numbers.
function checked(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new Error('The job data must contain a JSON object, such as {"to": "ann@example.com"}');
  }
  return text;
}
