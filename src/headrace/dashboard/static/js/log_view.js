// A log: lines with a filter, the end in sight while it grows.
//
// <hr-log> keeps it in sight from the moment it comes onto the page, unless somebody has scrolled away from it.

import { h } from "./dom.js";
import { count } from "./format.js";
import { empty, filterBox } from "./parts.js";

const SHOWN = 5000;
const NEAR_END_PX = 8;

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
      h("button.small", { type: "button", onclick: endOf }, "To the end"),
    ),
    shown.length
      ? h(
          "hr-log",
          {},
          h(
            "pre.text.log",
            { tabindex: "0", "aria-label": name, class: state.wrapped ? "wrapped" : null },
            shown.map((line) => h("span", { class: `log-line ${tone(line)}` }, `${line}\n`)),
          ),
        )
      : empty(lines.length ? "No line matches." : "The log is empty."),
  );
}

class LogElement extends HTMLElement {
  connectedCallback() {
    const log = this.firstElementChild;
    let atEnd = true;
    log.addEventListener(
      "scroll",
      () => (atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - NEAR_END_PX),
    );
    this.watch = new MutationObserver(() => atEnd && toEnd(log));
    this.watch.observe(log, { attributes: true, childList: true, characterData: true, subtree: true });
    toEnd(log);
  }
  disconnectedCallback() {
    this.watch.disconnect();
  }
}
customElements.define("hr-log", LogElement);

const toEnd = (log) => (log.scrollTop = log.scrollHeight);

function endOf({ target }) {
  const log = target.closest(".fields").querySelector("pre");
  if (log) toEnd(log);
}

function tone(line) {
  if (/\b(ERROR|CRITICAL|FATAL|Traceback)\b/.test(line)) return "bad";
  return /\bWARN(ING)?\b/.test(line) ? "warn" : "";
}
