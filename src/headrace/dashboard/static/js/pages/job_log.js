// The log of a job's driver, which has a process of its own.

import { getIfThere, getText, q } from "../api.js";
import { h } from "../dom.js";
import { bytes, moment } from "../format.js";
import { logView } from "../log_view.js";
import { empty, panel } from "../parts.js";

export function logTab(model, { signal, redraw }, [name]) {
  return logs(`${model.path}/logs`, `#/jobs/${q(model.id)}/log`, {
    signal,
    redraw,
    name,
    title: "Log of the driver",
  });
}

/** A list of logs, and the one that is open: of a driver, an executor or the dispatcher. */
export function logs(path, address, { signal, redraw, name, title }) {
  const state = { filter: "", wrapped: false };
  const set = (change) => (Object.assign(state, change), redraw());
  let list, text, open;
  return {
    async load() {
      const answer = await getIfThere(path, { signal });
      list = answer?.logs ?? [];
      const here = list.filter((log) => !log.url); // others are pages of Spark's
      open = name ?? here[0]?.name;
      text = open === undefined ? null : await getText(`${path}/${q(open)}`, { signal });
    },
    view: () =>
      panel(
        title,
        list.length === 0
          ? empty("There is no log.")
          : [
              (list.length > 1 || list[0].url) &&
                h(
                  "nav.tabs",
                  { key: "files", "aria-label": "Logs" },
                  list.map((log) =>
                    h(
                      "a",
                      {
                        key: log.name,
                        href: log.url ?? `${address}/${q(log.name)}`,
                        "aria-current": log.name === open ? "page" : null,
                        title: log.url ? "on a page of Spark's" : `changed ${moment(log.mtime)}`,
                      },
                      log.name,
                      " ",
                      h("span.muted", {}, log.url ? "at Spark" : bytes(log.size)),
                    ),
                  ),
                ),
              text !== null && logView(text, state, set, open),
            ],
      ),
  };
}
