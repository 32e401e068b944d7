// Calls the server. An error becomes an ApiError with PostgreSQL's fields: message, detail, hint,
// SQLSTATE.

export class ApiError extends Error {
  constructor(status, { message, detail, hint, sqlstate } = {}, retryAfter = null) {
    super(message ?? `the server answered with status ${status}`);
    Object.assign(this, { status, detail, hint, sqlstate, retryAfter });
  }
}

let csrfToken = "";
let signedOut = () => {};

export const setCsrfToken = (token) => void (csrfToken = token ?? "");

/** Sets the function to call when the server no longer knows the session. */
export const onSignedOut = (callback) => void (signedOut = callback);

async function answerOf(response) {
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  const after = Number(response.headers.get("Retry-After"));
  throw new ApiError(response.status, body.error, after > 0 ? after : null);
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch {
    throw new ApiError(0, { message: "hipq-web does not answer", hint: "Is it running, and is the network there?" });
  }
  if (response.status === 401 && path !== "api/sign-in") signedOut();
  return answerOf(response);
}

// Paths are relative, so that a proxy may serve the page under any prefix.
export const get = (path) => ask(`api/${path}`, {});

export const post = (path, body) =>
  ask(`api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrfToken },
    body: JSON.stringify(body),
  });
