// What threads are doing: a dump, as Flink's answers have it, asked for once and again on request.

import { get } from "./api.js";
import { h } from "./dom.js";
import { count, time } from "./format.js";
import { empty, filterBox, panel, problem } from "./parts.js";

/** path: of the dump. A page that draws itself anew does not ask again: stacks should stand still to be read. */
export function threadDump(path, { signal, redraw, title }) {
  let threads, error, at;
  let filter = "";
  async function ask() {
    try {
      threads = (await get(path, { signal })).threadInfos;
      [error, at] = [null, Date.now()];
    } catch (refused) {
      if (refused.status === undefined || refused.status === 401 || refused.lost) throw refused;
      error = refused;
    }
  }
  const again = () => ask().then(redraw, () => {}); // the page tells itself when the server is gone
  return {
    async load() {
      if (!threads && !error) await ask();
    },
    view() {
      const needle = filter.toLowerCase();
      const found = (threads ?? []).filter((one) =>
        `${one.threadName}\n${one.stringifiedThreadInfo}`.toLowerCase().includes(needle),
      );
      return panel(
        title,
        h(
          "div.panel-tools",
          { key: "tools" },
          filterBox("Thread or call", filter, (text) => ((filter = text), redraw())),
          h("button.small", { type: "button", onclick: again }, "Look again"),
          threads &&
            h("span.muted", {}, `${count(found.length)} of ${count(threads.length)} threads at ${time(at)}`),
        ),
        error && problem(error),
        found.length
          ? h("div.threads", { key: "threads" }, found.map(shown))
          : !error && empty(threads?.length ? "No thread matches." : "There are no threads."),
      );
    },
  };
}

const shown = ({ threadName, stringifiedThreadInfo }, index) =>
  h(
    "details",
    { key: `${index} ${threadName}`, open: / runs subtask /.test(stringifiedThreadInfo) },
    h("summary", {}, threadName),
    h("pre.text", { tabindex: "0", "aria-label": threadName }, stringifiedThreadInfo),
  );
