// What went wrong, with the user's line.

import { get } from "../api.js";
import { h } from "../dom.js";
import { duration, moment } from "../format.js";
import { empty, panel } from "../parts.js";

export function exceptionsTab(model, { signal }) {
  let history;
  return {
    async load() {
      const answer = await get(`${model.path}/exceptions?maxExceptions=50`, { signal });
      history = answer.exceptionHistory ?? { entries: [] };
    },
    view: () =>
      panel(
        "Failures, the newest first",
        history.entries.length
          ? [
              history.entries.map(failure),
              history.truncated && h("p.muted", {}, "Older failures are left out."),
            ]
          : empty("Nothing has gone wrong."),
      ),
  };
}

const shortName = (name) =>
  String(name ?? "")
    .split(".")
    .at(-1);
const firstLine = (text) =>
  String(text ?? "")
    .split("\n")
    .find((line) => line.trim()) ?? "";

function failure(entry, index) {
  return h(
    "article.failure",
    { key: `${entry.timestamp} ${index}` },
    h(
      "div.failure-head",
      {},
      h("span.tag.bad", {}, shortName(entry.exceptionName) || "failure"),
      h("span", {}, moment(entry.timestamp)),
      entry.condition && h("code.muted", {}, entry.condition),
      entry.taskName && h("span.muted", {}, `in ${entry.taskName}`),
      entry.endpoint && h("span.muted", {}, `on ${entry.endpoint}`),
    ),
    h("p.failure-what", {}, entry.message ?? firstLine(entry.stacktrace)),
    entry.code &&
      h(
        "div.source",
        {},
        entry["raised-at"] && h("div.source-where", {}, `raised at ${entry["raised-at"]}`),
        h("pre", {}, entry.code),
      ),
    entry.where &&
      h("p", {}, h("span.problem-label", {}, entry.code ? "step" : "where"), h("code", {}, entry.where)),
    entry["delay-ms"] !== undefined &&
      h(
        "p.muted",
        {},
        entry["delay-ms"] === null
          ? "The job gave up."
          : `The job started again after ${duration(entry["delay-ms"])}.`,
      ),
    entry.fix && h("p", {}, h("span.problem-label", {}, "fix"), entry.fix),
    entry.stacktrace &&
      h("details", {}, h("summary", {}, "Stack trace"), h("pre.text", { tabindex: "0" }, entry.stacktrace)),
  );
}
