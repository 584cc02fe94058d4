// Lines above the page: the server is gone; something that was begun in a closed dialog has ended.

import { h, render } from "./dom.js";

const place = document.getElementById("notices");
const shown = new Map(); // name -> {text, tone, button}

/** Shows a line until `untell` or the user takes it away; the same name replaces it. */
export function tell(name, { text, tone = "bad", button = ["Dismiss", () => untell(name)] }) {
  shown.set(name, { text, tone, button });
  draw();
}

export function untell(name) {
  if (shown.delete(name)) draw();
}

function draw() {
  const line = ([
    name,
    {
      text,
      tone,
      button: [label, onclick],
    },
  ]) =>
    h(
      `div.notice.${tone}`,
      { key: name },
      h("span", {}, text),
      h("button.small", { type: "button", onclick }, label),
    );
  render(place, [...shown].map(line));
}
