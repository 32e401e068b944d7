// The signed-in role, and its general rights. The server decides about rights on a queue or a job.

import { get, post, setCsrfToken } from "./api.js";

export let session = { signed_in: false };

function keep(answer) {
  session = answer;
  setCsrfToken(answer.csrf);
  return session;
}

/** Asks which role is signed in. Ignores an answer that arrives too late. */
export async function loadSession(isWanted = () => true) {
  const answer = await get("session");
  return isWanted() ? keep(answer) : session;
}

export const signIn = async (role, password) => keep(await post("sign-in", { role, password }));

export async function signOut() {
  await post("sign-out", {});
  keep({ signed_in: false });
}

/** Whether the role may see jobs at all: a monitor sees every queue, and perhaps no job. */
export const mayRead = () => session.may_read;

/** Whether to show buttons that change anything. */
export const mayAct = () => !session.read_only;
