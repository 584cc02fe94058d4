// The subtasks of a vertex, with bars that make skew visible; the splits of a source and their event time.

import { get, getIfThere, q } from "../api.js";
import { h } from "../dom.js";
import { bytes, count, duration, figure, watermark } from "../format.js";
import { badge, bar, empty, shares, table } from "../parts.js";

const SKEWED = 1.5; // times the mean: worth a mark, also where there are only two

export function subtasksOf(model, vertexId, signal) {
  const path = `${model.path}/vertices/${q(vertexId)}`;
  let found = null,
    pressure = new Map(),
    marks = new Map();
  return {
    async load() {
      if (!model.vertex(vertexId)) return;
      const [detail, load, watermarks] = await Promise.all([
        get(path, { signal }),
        getIfThere(`${path}/backpressure`, { signal }),
        getIfThere(`${path}/watermarks`, { signal }),
      ]);
      found = detail;
      pressure = new Map((load?.subtasks ?? []).map((one) => [one.subtask, one]));
      const list = Array.isArray(watermarks) ? watermarks : (watermarks?.metrics ?? []);
      marks = new Map(list.map(({ id, value }) => [Number(id.split(".")[0]), value]));
    },
    view: () =>
      found
        ? [subtaskTable(found, pressure, marks), ...(found.operators ?? []).filter(hasSplits).map(splitTable)]
        : empty("Loading …"),
  };
}

const hasSplits = ({ splits }) => splits?.length > 0;

const splitTable = ({ name, splits }) =>
  table(
    [
      { name: "Split", cell: (one) => one.split },
      { name: "Watermark", class: "nowrap", cell: (one) => watermark(one.watermark) },
      { name: "Has not moved for", class: "num", cell: (one) => duration(one.still) },
      { name: "Idle", cell: (one) => (one.idle ? "idle" : "") },
    ],
    splits,
    { keyOf: (one) => one.split, caption: `Splits of ${name}` },
  );

function subtaskTable({ subtasks, name }, pressure, marks) {
  if (!subtasks?.length) return empty("This vertex has no subtasks yet.");
  const amount = (one, what) => figure(one.metrics?.[what]) ?? 0;
  const scale = (what) => {
    const all = subtasks.map((one) => amount(one, what));
    return { most: Math.max(1, ...all), mean: all.reduce((a, b) => a + b, 0) / all.length };
  };
  const [reads, writes] = [scale("read-records"), scale("write-records")];
  const amountCell = (one, what, { most, mean }) => {
    const value = amount(one, what);
    const skewed = subtasks.length > 1 && mean > 0 && value >= SKEWED * mean;
    return [
      bar(value / most, count(value), skewed ? "warn" : ""),
      skewed && h("span.tag.warn", {}, `${(value / mean).toFixed(1)} × mean`),
    ];
  };
  const load = ({ subtask }) => {
    const one = pressure.get(subtask);
    return one
      ? { busy: figure(one.busyRatio), idle: figure(one.idleRatio), backPressured: figure(one.ratio) }
      : {};
  };
  return table(
    [
      { name: "Subtask", class: "num", cell: (one) => count(one.subtask) },
      { name: "State", cell: (one) => badge(one.status) },
      { name: "Records in", cell: (one) => amountCell(one, "read-records", reads) },
      { name: "Records out", cell: (one) => amountCell(one, "write-records", writes) },
      {
        name: "Bytes in, out",
        class: "num",
        cell: (one) => [
          bytes(one.metrics?.["read-bytes"]),
          h("div.muted", {}, bytes(one.metrics?.["write-bytes"])),
        ],
      },
      { name: "Load", cell: (one) => shares(load(one)) },
      { name: "Watermark", class: "nowrap", cell: (one) => watermark(marks.get(one.subtask)) },
      { name: "Host", class: "nowrap", cell: (one) => one.endpoint ?? one.host },
      { name: "Attempt", class: "num", cell: (one) => count(one.attempt) },
    ],
    subtasks,
    { keyOf: (one) => one.subtask, caption: `Subtasks of ${name}` },
  );
}
