// Who is signed in, and what he may do at all. What he may do to a queue or a job is the server's to say.

import { get, post, setCsrfToken } from "./api.js";

export let session = { signed_in: false };

function keep(answer) {
  readable = null;
  session = answer;
  setCsrfToken(answer.csrf);
  return session;
}

export const loadSession = async () => keep(await get("session"));

export const signIn = async (role, password) => keep(await post("sign-in", { role, password }));

export async function signOut() {
  await post("sign-out", {});
  keep({ signed_in: false });
}

let readable = null;

// Those who are no monitors see only queues that they may read.
async function findReadable() {
  if (!session.may_monitor) return true;
  const { queues } = await get("queues");
  return queues.length === 0 || queues.some(({ may_read: isReadable }) => isReadable);
}

/** Whether there may be jobs to see at all: a monitor sees every queue, and perhaps no job. */
export const mayRead = () => (readable ??= findReadable());

/** Whether there are buttons to change anything. */
export const mayAct = () => !session.read_only;
