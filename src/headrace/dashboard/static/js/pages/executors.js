// Executors: Spark's processes that run tasks, Flink's TaskManagers. Memory, slots, logs.

import { get, getIfThere, q } from "../api.js";
import { h } from "../dom.js";
import { bytes, count, duration, figure, time } from "../format.js";
import { bar, empty, facts, keyValues, panel, table, tile } from "../parts.js";
import { threadDump } from "../thread_dump.js";
import { logs } from "./job_log.js";

export function executors([id, ...rest], context) {
  return id ? oneExecutor(id, rest, context) : allExecutors(context);
}

function allExecutors({ signal }) {
  let list;
  return {
    title: () => "Executors",
    load: async () => ({ taskmanagers: list } = await get("taskmanagers", { signal })),
    view: () => [
      h("h1", { key: "h1" }, "Executors"),
      h(
        "section.panel",
        { key: "list", "aria-label": "Executors" },
        list.length
          ? table(columns, list, { keyOf: (one) => one.id, caption: "Executors" })
          : empty("No executor is running: they come with the first job."),
      ),
    ],
  };
}

const total = (one) =>
  figure(one.memoryConfiguration?.totalProcessMemory) || figure(one.hardware?.physicalMemory);
const free = (one) => figure(one.hardware?.freeMemory);

function memory(one) {
  const [all, left] = [total(one), free(one)];
  if (!all) return bytes(all);
  const used = Math.max(0, all - (left ?? all));
  return bar(
    used / all,
    `${bytes(used)} of ${bytes(all)}`,
    used / all > 0.9 ? "bad" : used / all > 0.75 ? "warn" : "",
  );
}

const columns = [
  {
    name: "Id",
    class: "name",
    cell: (one) => [h("a", { href: `#/executors/${q(one.id)}` }, one.id), h("div.muted.code", {}, one.path)],
  },
  {
    name: "Slots in use",
    cell: (one) =>
      bar(
        (one.slotsNumber - one.freeSlots) / (one.slotsNumber || 1),
        `${count(one.slotsNumber - one.freeSlots)} of ${count(one.slotsNumber)}`,
      ),
  },
  { name: "Cores", class: "num", cell: (one) => count(one.hardware?.cpuCores) },
  { name: "Memory", cell: memory },
  { name: "Heard of", class: "nowrap", cell: (one) => time(one.timeSinceLastHeartbeat) },
];

const TABS = { overview: "Overview", log: "Logs", threads: "Threads" };

function oneExecutor(id, [tab = "overview", name], { signal, redraw }) {
  const path = `taskmanagers/${q(id)}`;
  const here = tab in TABS ? tab : "overview";
  const content = {
    overview: () => overview(path, signal),
    log: () =>
      logs(`${path}/logs`, `#/executors/${q(id)}/log`, {
        signal,
        redraw,
        name,
        title: "Logs of the executor",
      }),
    threads: () =>
      threadDump(`${path}/thread-dump`, { signal, redraw, title: "Threads of the executor" }),
  }[here]();
  return {
    title: () => `Executor ${id}`,
    load: () => content.load(),
    view: () => [
      h("div", { key: "head" }, h("p", {}, h("a", { href: "#/executors" }, "Executors")), h("h1", {}, id)),
      h(
        "nav.tabs",
        { key: "tabs", "aria-label": "Of this executor" },
        Object.entries(TABS).map(([key, label]) =>
          h(
            "a",
            { key, href: `#/executors/${q(id)}/${key}`, "aria-current": key === here ? "page" : null },
            label,
          ),
        ),
      ),
      ...[content.view()].flat(),
    ],
  };
}

function overview(path, signal) {
  let one, metrics;
  return {
    async load() {
      [one, metrics] = await Promise.all([get(path, { signal }), getIfThere(`${path}/metrics`, { signal })]);
      const names = (metrics ?? []).map((metric) => metric.id);
      if (names.length)
        metrics = await getIfThere(`${path}/metrics?get=${names.map(q).join(",")}`, { signal });
    },
    view: () => [
      h(
        "div.tiles",
        { key: "tiles" },
        tile("Slots in use", `${count(one.slotsNumber - one.freeSlots)} of ${count(one.slotsNumber)}`),
        tile("Cores", count(one.hardware?.cpuCores)),
        tile("Memory", bytes(total(one)), memory(one)),
        one.metrics?.heapMax > 0 &&
          tile(
            "Heap",
            bytes(one.metrics.heapUsed),
            bar(one.metrics.heapUsed / one.metrics.heapMax, `of ${bytes(one.metrics.heapMax)}`),
          ),
      ),
      panel(
        "Place",
        facts([
          ["Address", h("code", {}, one.path)],
          ["Heard of", time(one.timeSinceLastHeartbeat)],
          [
            "Garbage collection",
            (one.metrics?.garbageCollectors ?? [])
              .map((gc) => `${gc.name}: ${count(gc.count)} in ${duration(gc.time)}`)
              .join("; ") || null,
          ],
        ]),
      ),
      metrics?.length > 0 &&
        panel(
          "Metrics",
          keyValues(
            metrics
              .filter((metric) => "value" in metric)
              .map((metric) => ({ key: metric.id, value: metric.value })),
            "Metrics of the executor",
          ),
        ),
    ],
  };
}
