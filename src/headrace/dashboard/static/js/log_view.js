// A log: lines with a filter, the end in sight while it grows.

import { h } from "./dom.js";
import { count } from "./format.js";
import { empty, filterBox } from "./parts.js";

const SHOWN = 5000;

/** state: {filter, wrapped}, kept by the page; set(change) draws again. */
export function logView(text, state, set, name) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const needle = (state.filter ?? "").toLowerCase();
  const found = needle ? lines.filter((line) => line.toLowerCase().includes(needle)) : lines;
  const shown = found.slice(-SHOWN);
  return h(
    "div.fields",
    { key: `log ${name}` },
    h(
      "div.panel-tools",
      {},
      filterBox("Filter lines", state.filter ?? "", (filter) => set({ filter })),
      h(
        "label.check",
        {},
        h("input", {
          type: "checkbox",
          checked: Boolean(state.wrapped),
          onchange: (event) => set({ wrapped: event.target.checked }),
        }),
        "Wrap lines",
      ),
      h(
        "span.muted",
        {},
        shown.length < lines.length
          ? `${count(shown.length)} of ${count(lines.length)} lines`
          : `${count(lines.length)} lines`,
      ),
      h("button.small", { type: "button", onclick: (event) => toEnd(event.target) }, "To the end"),
    ),
    shown.length
      ? h(
          "pre.text.log",
          { tabindex: "0", "aria-label": name, class: state.wrapped ? "wrapped" : null },
          shown.map((line) => h("span", { class: `log-line ${tone(line)}` }, `${line}\n`)),
        )
      : empty(lines.length ? "No line matches." : "The log is empty."),
  );
}

function toEnd(button) {
  const log = button.closest(".fields").querySelector("pre");
  if (log) log.scrollTop = log.scrollHeight;
}

function tone(line) {
  if (/\b(ERROR|CRITICAL|FATAL|Traceback)\b/.test(line)) return "bad";
  return /\bWARN(ING)?\b/.test(line) ? "warn" : "";
}
