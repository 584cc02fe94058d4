// Asks for a token when the server wants one. It is kept for this tab only.

import { get, token } from "../api.js";
import { h, render } from "../dom.js";
import { problem } from "../parts.js";

export function signIn({ done }) {
  const outcome = h("div", { "aria-live": "polite" });
  const input = h("input", {
    type: "password",
    name: "token",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
  });
  const enter = async (event) => {
    event.preventDefault();
    token.set(input.value.trim());
    try {
      await get("config");
      done();
    } catch (error) {
      token.clear();
      render(
        outcome,
        problem(error.status === 401 ? new Error("The server does not accept this token.") : error),
      );
      input.select();
    }
  };
  return h(
    "section.panel.signin",
    { key: "sign-in" },
    h("h1", {}, "Sign in"),
    h(
      "p.muted",
      {},
      "This dispatcher asks for a token. ",
      h("code", {}, "headrace cluster token create"),
      " makes one.",
    ),
    h(
      "form.fields",
      { onsubmit: enter },
      h(
        "label.field",
        {},
        h("span", {}, "Token"),
        input,
        h("small", {}, "Kept in this tab until it is closed."),
      ),
      h("div.dialog-buttons", {}, h("button.primary", { type: "submit" }, "Sign in")),
    ),
    outcome,
  );
}
