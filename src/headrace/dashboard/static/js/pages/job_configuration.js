// How a job was configured. The server masks secrets.

import { get, getIfThere } from "../api.js";
import { h } from "../dom.js";
import { count } from "../format.js";
import { facts, keyValues, optionsPanel, panel } from "../parts.js";

export function configurationTab(model, { signal, redraw }) {
  let answer,
    accumulators,
    options,
    filter = "";
  return {
    async load() {
      [answer, options, accumulators] = await Promise.all([
        get(`${model.path}/config`, { signal }),
        getIfThere(`${model.path}/jobmanager/config`, { signal }),
        get(`${model.path}/accumulators`, { signal }),
      ]);
    },
    view() {
      const config = answer["execution-config"] ?? answer.executionConfigInfo ?? {};
      const parameters = Object.entries(config["user-config"] ?? {}).map(([key, value]) => ({ key, value }));
      const rows = [...(options ?? [])].sort((a, b) => a.key.localeCompare(b.key));
      const users = accumulators?.["user-task-accumulators"] ?? [];
      return [
        panel(
          "Execution",
          facts([
            ["Parallelism", count(config["job-parallelism"])],
            ["Restart strategy", config["restart-strategy"]],
            ["Execution mode", config["execution-mode"]],
            ["Program", model.job.program ? h("code", {}, model.job.program) : null],
            ["Driver", model.job.driver],
            ...webPages(model.job.web),
            ["Checkpoint directory", model.job.checkpoint ? h("code", {}, model.job.checkpoint) : null],
          ]),
        ),
        optionsPanel(rows, "Options of the job", filter, (text) => ((filter = text), redraw())),
        parameters.length > 0 &&
          panel("Parameters of the program", keyValues(parameters, "Parameters of the program")),
        users.length > 0 &&
          panel(
            "Accumulators",
            keyValues(
              users.map(({ name, type, value }) => ({ key: `${name} (${type})`, value })),
              "Accumulators",
            ),
          ),
      ];
    },
  };
}

/** Spark's own pages; what is no web address is shown as text. */
const webPages = (pages) =>
  Object.entries(pages ?? {}).map(([name, address]) => [
    name,
    /^https?:\/\//.test(address)
      ? h("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, address)
      : String(address),
  ]);
