// Signing in: with a PostgreSQL role and its password. The role's rights decide what it may see and
// do.

import { schemeSwitch } from "../appearance.js";
import { h } from "../dom.js";
import { seconds } from "../format.js";
import { errorBox, noticeBox } from "../parts/notice.js";
import { signIn } from "../session.js";

/** The form; done is called after signing in. */
export function signInForm(reason, done) {
  const said = h("div", {}, reason ? noticeBox(reason) : null);
  const role = h("input", {
    id: "role",
    name: "role",
    autocomplete: "username",
    required: true,
    autocapitalize: "none",
    spellcheck: "false",
  });
  const password = h("input", { id: "password", name: "password", type: "password", autocomplete: "current-password" });
  const button = h("button", { class: "button is-primary", type: "submit" }, "Sign in");
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await signIn(role.value.trim(), password.value);
      done();
    } catch (error) {
      if (error.retryAfter) error.hint ??= `Try again in ${seconds(error.retryAfter)}.`;
      said.replaceChildren(errorBox(error));
      password.select();
    } finally {
      button.disabled = false;
    }
  };
  const form = h(
    "form",
    { class: "sign-in", onsubmit: submit },
    h("div", { class: "brand" }, h("img", { src: "favicon.svg", alt: "", width: 36, height: 36 }), h("h1", {}, "hipq")),
    h("p", { class: "page-words" }, "Sign in with your role in PostgreSQL. Its rights decide what you see."),
    h("div", { class: "field" }, h("label", { for: "role" }, "Role"), role),
    h("div", { class: "field" }, h("label", { for: "password" }, "Password"), password),
    said,
    button,
  );
  queueMicrotask(() => role.focus());
  return h("main", { class: "sign-in-page" }, form, schemeSwitch());
}
