// Who is signed in, and what he may do at all. What he may do to a queue or a job is the server's to say.

import { get, post, setCsrfToken } from "./api.js";

export let session = { signed_in: false };

function keep(answer) {
  session = answer;
  setCsrfToken(answer.csrf);
  return session;
}

/** Asks who is signed in. An answer that comes when it is no longer wanted changes nothing. */
export async function loadSession(isWanted = () => true) {
  const answer = await get("session");
  return isWanted() ? keep(answer) : session;
}

export const signIn = async (role, password) => keep(await post("sign-in", { role, password }));

export async function signOut() {
  await post("sign-out", {});
  keep({ signed_in: false });
}

/** Whether there may be jobs to see at all: a monitor sees every queue, and perhaps no job. */
export const mayRead = () => session.may_read;

/** Whether there are buttons to change anything. */
export const mayAct = () => !session.read_only;
