// One job: its head with the buttons, and a tab beneath.

import { h } from "../dom.js";
import { count, duration, moment } from "../format.js";
import { jobModel } from "../job_model.js";
import { badge, empty, facts, problem, waits } from "../parts.js";
import { threadDump } from "../thread_dump.js";
import { actionButtons } from "./job_actions.js";
import { backPressureTab } from "./job_back_pressure.js";
import { checkpointsTab } from "./job_checkpoints.js";
import { configurationTab } from "./job_configuration.js";
import { exceptionsTab } from "./job_exceptions.js";
import { flameGraphTab } from "./job_flame_graph.js";
import { graphTab } from "./job_graph.js";
import { logTab } from "./job_log.js";
import { metricsTab } from "./job_metrics.js";

const TABS = {
  graph: ["Graph", graphTab],
  pressure: ["Back pressure", backPressureTab],
  flames: ["Flame graph", flameGraphTab],
  checkpoints: ["Checkpoints", checkpointsTab],
  metrics: ["Metrics", metricsTab],
  exceptions: ["Exceptions", exceptionsTab],
  configuration: ["Configuration", configurationTab],
  log: ["Log", logTab],
  threads: ["Threads", threadsTab],
};

/** Of the driver; those of tasks are at its executors. */
function threadsTab(model, context) {
  if (model.ended) return { view: () => empty("The job has ended.") };
  return threadDump(`${model.path}/thread-dump`, { ...context, title: "Threads of the driver" });
}

export function job([id, tab = "graph", ...rest], context) {
  const model = jobModel(id);
  const name = tab in TABS ? tab : "graph";
  const content = TABS[name][1](model, context, rest);
  return {
    title: () => model.job.name,
    async load() {
      await model.load(context.signal);
      await content.load?.();
    },
    view: () => [head(model, context), tabs(model, name), ...[content.view()].flat()],
  };
}

function head(model, context) {
  const { job } = model;
  const waiting = job.state === "CREATED";
  const first = job.vertices?.length ? Math.max(...job.vertices.map((vertex) => vertex.parallelism)) : null;
  return h(
    "section.job-head",
    { key: "head", "aria-label": "Job" },
    h(
      "div.job-title",
      {},
      h(
        "div.job-name",
        {},
        h("h1", {}, job.name),
        badge(job.state),
        job["waits-for"] && h("span.tag.warn", {}, "waits for slots"),
        job.lost && h("span.tag.bad", {}, "driver lost"),
      ),
      actionButtons(model, context),
    ),
    job.state === "FAILED" &&
      job.error &&
      h("div", { key: "error" }, problem({ message: String(job.error).split("\n")[0] })),
    facts([
      ["Job id", h("code", {}, job.jid)],
      [waiting ? "Submitted" : "Started", moment(job["start-time"])],
      [model.ended ? "Ran for" : waiting ? "Waiting for" : "Running for", duration(job.duration)],
      ["Waits for", waits(job)],
      ["Ended", model.ended ? moment(job["end-time"]) : null],
      ["Parallelism", count(job.parallelism ?? first)],
      ["Restarts", job.restarts === undefined ? null : count(job.restarts)],
      ["Mode", waiting ? null : job.mode], // its program has not said it yet
      ["Restored from", job["restored-from"] ? h("code", {}, job["restored-from"]) : null],
      ["Queue", job["queue-position"] ? `position ${count(job["queue-position"])}` : null],
    ]),
  );
}

const tabs = (model, here) =>
  h(
    "nav.tabs",
    { key: "tabs", "aria-label": "Of this job" },
    Object.entries(TABS).map(([name, [label]]) =>
      h(
        "a",
        {
          key: name,
          href: `#/jobs/${encodeURIComponent(model.id)}/${name}`,
          "aria-current": name === here ? "page" : null,
        },
        label,
      ),
    ),
  );
