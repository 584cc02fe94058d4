// Asks before something happens, and shows what came of it. The browser's own <dialog> keeps the focus inside.

import { h, render } from "./dom.js";
import { tell } from "./notices.js";
import { problem } from "./parts.js";

/**
 * @param {object} question title, text, fields ([{name, label, type, value, hint, required, min}]), confirm (the
 *   button's word), danger, act(values): a promise of the sentence that says what happened.
 */
export function ask(question) {
  const opener = document.activeElement;
  const state = { phase: "asking" };
  const form = h("form.fields", {}, (question.fields ?? []).map(field));
  const [outcome, buttons] = [h("div", { "aria-live": "polite" }), h("div.dialog-buttons", {})];
  const box = h(
    "dialog.dialog",
    { "aria-labelledby": "dialog-title" },
    h("h2", { id: "dialog-title" }, question.title),
    h("div.dialog-text", {}, question.text),
    form,
    outcome,
    buttons,
  );
  const draw = () => {
    render(outcome, outcomeOf(state, question));
    render(buttons, buttonsOf(state, question, { confirm, close: () => box.close() }));
  };
  const confirm = async () => {
    if (state.phase === "busy" || !form.reportValidity()) return;
    state.phase = "busy";
    draw();
    try {
      state.result = await question.act(valuesOf(form));
      state.phase = "done";
    } catch (error) {
      Object.assign(state, { phase: "failed", error });
    }
    if (!box.isConnected) return tellLater(question.title, state);
    draw();
    return buttons.lastChild.focus();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (state.phase !== "done") confirm();
  });
  box.addEventListener("close", () => {
    box.remove();
    if (opener?.isConnected) opener.focus();
  });
  draw();
  document.body.append(box);
  box.showModal();
  return box;
}

/** Who closed the dialog hears of the end all the same. */
function tellLater(title, { phase, result, error }) {
  const text = phase === "done" ? result : `${title} ${error.message}`;
  tell(title, { text, tone: phase === "done" ? "good" : "bad" });
}

function outcomeOf({ phase, result, error }, { busy = "Working …" }) {
  if (phase === "busy") return h("p.busy-line", { key: "busy" }, busy);
  if (phase === "done") return h("p.success", { key: "done" }, result);
  return phase === "failed" && h("div", { key: "failed" }, problem(error));
}

function buttonsOf({ phase }, { confirm: word, danger }, { confirm, close }) {
  if (phase === "done")
    return [h("button.primary", { key: "close", type: "button", onclick: close }, "Close")];
  return [
    h(
      "button",
      { key: "back", type: "button", onclick: close },
      phase === "busy" ? "Close, it goes on" : "Back",
    ),
    h(
      "button",
      {
        key: "confirm",
        class: danger ? "danger" : "primary",
        type: "button",
        disabled: phase === "busy",
        onclick: confirm,
      },
      phase === "failed" ? "Try again" : word,
    ),
  ];
}

function field({ name, label, hint, type = "text", value, ...more }) {
  if (type === "check") {
    return h(
      "label.check",
      {},
      h("input", { type: "checkbox", name, checked: Boolean(value) }),
      h("span", {}, label, hint && h("small", {}, hint)),
    );
  }
  return h(
    "label.field",
    {},
    h("span", {}, label),
    h("input", { type, name, value: value ?? "", autocomplete: "off", spellcheck: "false", ...more }),
    hint && h("small", {}, hint),
  );
}

const valuesOf = (form) =>
  Object.fromEntries(
    [...form.querySelectorAll("input")].map((input) => [
      input.name,
      input.type === "checkbox"
        ? input.checked
        : input.type === "number"
          ? Number(input.value)
          : input.value.trim(),
    ]),
  );
