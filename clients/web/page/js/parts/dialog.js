// Dialogs: a question with fields, and the progress of a long action. The dialog element keeps the
// focus inside.

import { h, newId } from "../dom.js";
import { errorBox } from "./notice.js";

function open(title, ...content) {
  const id = newId("title");
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": id }, h("h2", { id }, title), content);
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
  return dialog;
}

/** A field with its label: { name, label, kind?, value?, hint?, isRequired?, placeholder?, choices? }. */
export function field({
  name,
  label,
  kind = "text",
  value = null,
  hint = null,
  isRequired = false,
  placeholder = null,
  choices = null,
  ...rest
}) {
  const id = newId(name);
  const attributes = {
    id,
    name,
    placeholder,
    required: isRequired,
    "aria-describedby": hint ? `${id}-hint` : null,
    spellcheck: "false",
    ...rest,
  };
  let input;
  if (choices)
    input = h(
      "select",
      attributes,
      choices.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
    );
  else if (kind === "area") input = h("textarea", { rows: 3, ...attributes }, value ?? "");
  else input = h("input", { type: kind, value, autocomplete: "off", ...attributes });
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    input,
    hint ? h("p", { class: "field-hint", id: `${id}-hint` }, hint) : null,
  );
}

/** The values of a form's fields by name; empty ones are left out. */
export const valuesOf = (form) =>
  Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [name, String(value).trim()]).filter(([, value]) => value !== ""),
  );

/**
 * Asks, and acts: calls act(values) with the fields. If that fails, the dialog stays, with the error.
 * Resolves with the result of act, or null if the user cancels.
 */
export function ask({ title, words = [], fields = [], action, isDangerous = false, act }) {
  return new Promise((resolve) => {
    let outcome = null;
    const errors = h("div", {});
    const button = h("button", { class: `button is-${isDangerous ? "danger" : "primary"}`, type: "submit" }, action);
    const submit = async (event) => {
      event.preventDefault();
      button.disabled = true;
      try {
        outcome = (await act(valuesOf(form))) ?? true;
        dialog.close();
      } catch (error) {
        errors.replaceChildren(errorBox(error));
      }
      button.disabled = false;
    };
    const form = h(
      "form",
      { method: "dialog", onsubmit: submit },
      [words].flat().map((word) => h("p", {}, word)),
      fields.map(field),
      errors,
      h(
        "div",
        { class: "dialog-actions" },
        h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Back"),
        button,
      ),
    );
    const dialog = open(title, form);
    dialog.addEventListener("close", () => resolve(outcome));
    (form.querySelector("input, select, textarea") ?? button).focus();
  });
}

/**
 * Runs a long action step by step and shows its progress: step() does one step and returns how many
 * items it did, 0 at the end. Resolves with the number of items done, also when the user stops it.
 */
export function proceed({ title, total, step }) {
  return new Promise((resolve, reject) => {
    let done = 0;
    let isStopped = false;
    const bar = h("progress", { max: Math.max(1, total), value: 0, "aria-label": title });
    const count = h("p", { class: "progress-count", "aria-live": "polite" });
    const dialog = open(
      title,
      bar,
      count,
      h(
        "div",
        { class: "dialog-actions" },
        h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Stop"),
      ),
    );
    const show = () => {
      bar.value = Math.min(done, bar.max);
      count.textContent = `${done.toLocaleString("en")} of ${total.toLocaleString("en")}`;
    };
    dialog.addEventListener("close", () => void (isStopped = true));
    const run = async () => {
      for (let more = 1; more > 0 && !isStopped; done += more) {
        show();
        more = await step();
      }
    };
    show();
    run()
      .then(() => resolve(done), reject)
      .finally(() => dialog.close());
  });
}

/** A dialog with text: content, and a button that closes it. */
export function read(title, ...content) {
  const dialog = open(
    title,
    content,
    h(
      "div",
      { class: "dialog-actions" },
      h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Close"),
    ),
  );
  return dialog;
}
