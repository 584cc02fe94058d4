// All jobs: what runs, what waits, what has ended; how full the cluster is.

import { get } from "../api.js";
import { h } from "../dom.js";
import { count, duration, moment } from "../format.js";
import { badge, bar, empty, ENDED, filterBox, panel, table, tile, waits } from "../parts.js";

const PAGE = 25;

export function overview(_, { signal, redraw }) {
  const state = { filter: "", kind: "", page: 0, sort: { by: "Ended", down: true } };
  let cluster, jobs;
  const set = (change) => (Object.assign(state, change), redraw());
  return {
    title: () => "Jobs",
    async load() {
      [cluster, { jobs }] = await Promise.all([
        get("overview", { signal }),
        get("jobs/overview", { signal }),
      ]);
    },
    view() {
      const waiting = jobs
        .filter((job) => job.state === "CREATED")
        .sort((a, b) => (a["queue-position"] ?? 0) - (b["queue-position"] ?? 0));
      const active = jobs.filter((job) => !ENDED.has(job.state) && job.state !== "CREATED");
      const ended = jobs.filter((job) => ENDED.has(job.state));
      return [
        h("h1.hidden", { key: "h1" }, "Jobs"),
        tiles(cluster, active, waiting),
        panel(
          "Running",
          active.length
            ? table(runningColumns, active, { keyOf, caption: "Running jobs" })
            : empty("No job is running."),
        ),
        waiting.length > 0 &&
          panel("Queue", table(waitingColumns, waiting, { keyOf, caption: "Waiting jobs" })),
        endedPanel(ended, state, set),
      ];
    },
  };
}

const keyOf = (job) => job.jid;
const link = (job) =>
  h("a", { href: `#/jobs/${encodeURIComponent(job.jid)}` }, job.name || "(without a name)");
const tasks = (job) => (job.tasks?.total ? `${job.tasks.running ?? 0} of ${job.tasks.total}` : "–");

function tiles(cluster, active, waiting) {
  const [total, free] = [cluster["slots-total"], cluster["slots-available"]];
  return h(
    "div.tiles",
    { key: "tiles" },
    tile("Running", count(active.length)),
    tile("Waiting", count(waiting.length)),
    tile("Finished", count(cluster["jobs-finished"])),
    tile("Canceled", count(cluster["jobs-cancelled"])),
    tile("Failed", count(cluster["jobs-failed"])),
    tile(
      "Slots in use",
      `${count(total - free)} of ${count(total)}`,
      bar(total ? (total - free) / total : 0, "", free === 0 && total ? "warn" : ""),
    ),
    tile("Executors", count(cluster.taskmanagers)),
  );
}

const runningColumns = [
  { name: "Name", class: "name", cell: link },
  {
    name: "State",
    cell: (job) => [badge(job.state), waits(job) && h("div.muted", {}, `waits for ${waits(job)}`)],
  },
  { name: "Tasks running", class: "num", cell: tasks },
  { name: "Parallelism", class: "num", cell: (job) => count(job.parallelism) },
  { name: "Restarts", class: "num", cell: (job) => count(job.restarts) },
  { name: "Started", class: "nowrap", cell: (job) => moment(job["start-time"]) },
  { name: "Running for", class: "num", cell: (job) => duration(job.duration) },
];

const waitingColumns = [
  { name: "Position", class: "num", cell: (job) => count(job["queue-position"]) },
  { name: "Name", class: "name", cell: link },
  { name: "State", cell: (job) => badge(job.state, "WAITING FOR SLOTS") },
  { name: "Submitted", class: "nowrap", cell: (job) => moment(job["start-time"]) },
  { name: "Waiting for", class: "num", cell: (job) => duration(job.duration) },
];

const endedColumns = [
  { name: "Name", class: "name", cell: link, sort: (job) => job.name ?? "" },
  {
    name: "State",
    cell: (job) => [badge(job.state), job.lost && h("span.tag.bad", {}, "driver lost")],
    sort: (job) => job.state,
  },
  {
    name: "Started",
    class: "nowrap",
    cell: (job) => moment(job["start-time"]),
    sort: (job) => job["start-time"],
  },
  { name: "Ended", class: "nowrap", cell: (job) => moment(job["end-time"]), sort: (job) => job["end-time"] },
  { name: "Ran for", class: "num", cell: (job) => duration(job.duration), sort: (job) => job.duration },
];

function endedPanel(ended, state, set) {
  const needle = state.filter.toLowerCase();
  const found = ended.filter(
    (job) =>
      (!state.kind || job.state === state.kind) && `${job.name} ${job.jid}`.toLowerCase().includes(needle),
  );
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  const page = Math.min(state.page, pages - 1);
  // sorted before it is cut, so that a page is a part of the whole order
  const column = endedColumns.find(({ name }) => name === state.sort.by);
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  const sorted = [...found].sort(
    (a, b) => (state.sort.down ? -1 : 1) * compare(column.sort(a), column.sort(b)),
  );
  const shown = sorted.slice(page * PAGE, (page + 1) * PAGE);
  return h(
    "section.panel",
    { key: "ended", "aria-label": "Ended jobs" },
    h(
      "div.panel-head",
      {},
      h("h2", {}, "Ended"),
      h(
        "div.panel-tools",
        {},
        h(
          "label",
          {},
          h("span.hidden", {}, "State"),
          h(
            "select",
            { onchange: (event) => set({ kind: event.target.value, page: 0 }) },
            ["", ...ENDED].map((kind) =>
              h("option", { value: kind, selected: kind === state.kind }, kind || "All states"),
            ),
          ),
        ),
        filterBox("Name or id", state.filter, (filter) => set({ filter, page: 0 })),
      ),
    ),
    shown.length
      ? table(endedColumns, shown, {
          keyOf,
          caption: "Ended jobs",
          sort: state.sort,
          onsort: (sort) => set({ sort }),
        })
      : empty(ended.length ? "No ended job matches." : "No job has ended yet."),
    pages > 1 &&
      h(
        "div.pager",
        { key: "pager" },
        h("span", {}, `${page * PAGE + 1} to ${page * PAGE + shown.length} of ${count(found.length)}`),
        h(
          "button.small",
          { type: "button", disabled: page === 0, onclick: () => set({ page: page - 1 }) },
          "Back",
        ),
        h(
          "button.small",
          { type: "button", disabled: page === pages - 1, onclick: () => set({ page: page + 1 }) },
          "Next",
        ),
      ),
  );
}
