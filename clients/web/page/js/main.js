// Starts the page: signs in if necessary, then shows the shell with the page in the URL.

import { onSignedOut } from "./api.js";
import { keepAges } from "./format.js";
import { startKeyboard } from "./keyboard.js";
import { connect, disconnect } from "./live.js";
import { pages } from "./pages.js";
import { show as alerts } from "./pages/alerts.js";
import { show as deadLetters } from "./pages/dead_letters.js";
import { show as doctor } from "./pages/doctor.js";
import { show as executors } from "./pages/executors.js";
import { show as graphs } from "./pages/graphs.js";
import { show as jobTypes } from "./pages/job_types.js";
import { show as jobs } from "./pages/jobs.js";
import { show as overview } from "./pages/overview.js";
import { show as pauses } from "./pages/pauses.js";
import { show as queues } from "./pages/queues.js";
import { show as schedules } from "./pages/schedules.js";
import { show as settings } from "./pages/settings.js";
import { signInForm } from "./pages/sign_in.js";
import { show as unknown } from "./pages/unknown.js";
import { show as workers } from "./pages/workers.js";
import { errorBox } from "./parts/notice.js";
import { startRouter } from "./router.js";
import { loadSession, session, signOut } from "./session.js";
import { Shell } from "./shell.js";

const shows = {
  overview,
  queues,
  job_types: jobTypes,
  jobs,
  graphs,
  dead_letters: deadLetters,
  pauses,
  schedules,
  executors,
  workers,
  alerts,
  doctor,
  settings,
};
const routes = {
  ...Object.fromEntries(pages.map(({ name, title }) => [name, { title, show: shows[name] }])),
  unknown: { title: "No such page", show: unknown },
};

const app = document.getElementById("app");
let stop = null;

function close() {
  disconnect();
  stop?.();
  stop = null;
}

function showSignIn(reason = null) {
  close();
  document.title = "Sign in – hipq";
  app.replaceChildren(signInForm(reason, showPages));
}

function showPages() {
  close();
  const shell = new Shell(async () => {
    const shown = stop;
    disconnect(); // the server ends the stream at sign-out: this is not a loss
    try {
      await signOut();
    } catch (error) {
      if (stop === shown) openStream();
      throw error;
    }
    if (stop === shown) showSignIn();
  });
  app.replaceChildren(shell.element);
  const stops = [
    startKeyboard(),
    startRouter(routes, shell.main, (name, route) => shell.mark(name, route.title)),
    () => shell.leave(),
  ];
  stop = () => stops.forEach((one) => one());
  openStream();
}

// The stream of the displayed pages. When it breaks, either the session is over, or only the
// connection is lost. Once these pages are gone this does not matter: the user may be signing in,
// or may have done so.
function openStream() {
  const shown = stop;
  const isShown = () => stop === shown;
  const findOut = async () => {
    if (!isShown()) return;
    try {
      await loadSession(isShown);
    } catch {
      setTimeout(findOut, 3000);
      return;
    }
    if (!isShown()) return;
    if (session.signed_in) connect(findOut);
    else showSignIn("The session is over. Sign in again.");
  };
  connect(findOut);
}

onSignedOut(() => {
  if (stop) showSignIn("The session is over. Sign in again.");
});
setInterval(keepAges, 1000);

try {
  await loadSession();
  if (session.signed_in) showPages();
  else showSignIn();
} catch (error) {
  app.replaceChildren(errorBox(error));
}
