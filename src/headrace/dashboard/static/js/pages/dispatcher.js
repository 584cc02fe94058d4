// The dispatcher itself (Flink's JobManager): its configuration, its figures, its logs.

import { get, getIfThere } from "../api.js";
import { h } from "../dom.js";
import { empty, facts, keyValues, optionsPanel, panel } from "../parts.js";
import { threadDump } from "../thread_dump.js";
import { logs } from "./job_log.js";

const TABS = {
  configuration: ["Configuration", configuration],
  log: ["Log", log],
  threads: ["Threads", threads],
  metrics: ["Metrics", metrics],
};

export function dispatcher([tab = "configuration", ...rest], context) {
  const name = tab in TABS ? tab : "configuration";
  const content = TABS[name][1](context, rest);
  return {
    title: () => "Dispatcher",
    load: () => content.load(),
    view: () => [
      h("h1", { key: "h1" }, "Dispatcher"),
      h(
        "nav.tabs",
        { key: "tabs", "aria-label": "Of the dispatcher" },
        Object.entries(TABS).map(([key, [label]]) =>
          h("a", { key, href: `#/dispatcher/${key}`, "aria-current": key === name ? "page" : null }, label),
        ),
      ),
      ...[content.view()].flat(),
    ],
  };
}

function configuration({ signal, redraw }) {
  let rows,
    environment,
    filter = "";
  return {
    async load() {
      [rows, environment] = await Promise.all([
        get("jobmanager/config", { signal }),
        getIfThere("jobmanager/environment", { signal }),
      ]);
    },
    view() {
      return [
        environment?.jvm &&
          panel(
            "Runtime",
            facts([
              ["Version", environment.jvm.version],
              ["Architecture", environment.jvm.arch],
              ["Options", environment.jvm.options?.join(" ") || null],
            ]),
          ),
        optionsPanel(rows, "Options of the dispatcher", filter, (text) => ((filter = text), redraw())),
      ];
    },
  };
}

function log({ signal, redraw }, [name]) {
  return logs("jobmanager/logs", "#/dispatcher/log", {
    signal,
    redraw,
    name,
    title: "Log of the dispatcher",
  });
}

function threads(context) {
  return threadDump("jobmanager/thread-dump", { ...context, title: "Threads of the dispatcher" });
}

function metrics({ signal }) {
  let rows = [];
  return {
    async load() {
      const names = ((await getIfThere("jobmanager/metrics", { signal })) ?? []).map(({ id }) => id);
      rows = names.length
        ? await get(`jobmanager/metrics?get=${names.map(encodeURIComponent).join(",")}`, { signal })
        : [];
    },
    view: () =>
      panel(
        "Metrics",
        rows.length
          ? keyValues(
              rows.map(({ id, value }) => ({ key: id, value })),
              "Metrics of the dispatcher",
            )
          : empty("No metrics."),
      ),
  };
}
