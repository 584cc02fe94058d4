// Checkpoints: how many, how long, how large; each with what every vertex added.

import { get, getIfThere, q } from "../api.js";
import { h } from "../dom.js";
import { bytes, count, duration, figure, moment, time } from "../format.js";
import { badge, empty, facts, panel, problem, table, tile } from "../parts.js";
import { plot } from "../plot.js";

const FIRST = 15;
// A job with many checkpoints keeps the last few; what was before them is in the history of these metrics.
const METRICS = {
  end_to_end_duration: "job.lastCheckpointDuration",
  state_size: "job.lastCheckpointFullSize",
  checkpointed_size: "job.lastCheckpointSize",
};

export function checkpointsTab(model, { signal, redraw }) {
  let answer, config, past;
  const shown = { all: false };
  const details = new Map(); // id -> what is known of an opened one
  const toggle = (id) => {
    if (details.delete(id)) return redraw();
    details.set(id, null);
    redraw();
    return get(`${model.path}/checkpoints/details/${q(id)}`)
      .then(
        (found) => details.has(id) && details.set(id, found),
        (error) => details.set(id, { error }),
      )
      .then(redraw);
  };
  return {
    async load() {
      [answer, config, past] = await Promise.all([
        getIfThere(`${model.path}/checkpoints`, { signal }),
        config ?? getIfThere(`${model.path}/checkpoints/config`, { signal }),
        getIfThere(`${model.path}/metrics/history?get=${Object.values(METRICS).join(",")}`, { signal }),
      ]);
    },
    view() {
      if (!answer?.counts) return empty("This job has no checkpoints.");
      return [
        tiles(answer),
        plots(answer.history ?? [], past?.series ?? []),
        history(answer.history ?? [], {
          details,
          toggle,
          model,
          all: shown.all,
          showAll: () => ((shown.all = true), redraw()),
        }),
        latest(answer.latest ?? {}),
        config && settings(config),
      ];
    },
  };
}

function tiles({ counts, summary }) {
  return h(
    "div.tiles",
    { key: "counts" },
    tile("Completed", count(counts.completed)),
    tile("In progress", count(counts.in_progress)),
    tile("Failed", count(counts.failed)),
    tile("Restored", count(counts.restored)),
    tile("Duration, median", duration(summary?.end_to_end_duration?.p50)),
    tile("Duration, 99 %", duration(summary?.end_to_end_duration?.p99)),
    tile("State, mean", bytes(summary?.state_size?.avg)),
  );
}

function plots(history, past) {
  const done = history
    .filter((one) => one.status === "COMPLETED")
    .sort((a, b) => a.trigger_timestamp - b.trigger_timestamp);
  const first = done[0]?.trigger_timestamp ?? Infinity;
  const line = (name, field) => {
    const known = done.map((one) => [one.trigger_timestamp, figure(one[field])]);
    // 0 is what the metrics say before the first checkpoint
    const before = past
      .find(({ id }) => id === METRICS[field])
      ?.points.filter(([ms, value]) => ms < first && value > 0);
    return { name, points: [...(before ?? []), ...known] };
  };
  return h(
    "section.panel",
    { key: "plots", "aria-label": "Checkpoints over time" },
    h(
      "div.plots",
      {},
      plot({
        title: "Duration",
        series: [line("from trigger to commit", "end_to_end_duration")],
        format: duration,
      }),
      plot({
        title: "Size",
        series: [line("state", "state_size"), line("written", "checkpointed_size")],
        format: bytes,
      }),
    ),
  );
}

const kind = (one) => (one.is_savepoint ? "savepoint" : "checkpoint");

function history(list, { details, toggle, model, all, showAll }) {
  const some = all ? list : list.slice(0, FIRST);
  const columns = [
    {
      name: "Id",
      class: "num",
      cell: (one) =>
        h(
          "button.plain.small",
          { type: "button", "aria-expanded": String(details.has(one.id)), onclick: () => toggle(one.id) },
          `${details.has(one.id) ? "▾" : "▸"} ${one.id}`,
        ),
    },
    { name: "Status", cell: (one) => badge(one.status) },
    { name: "Kind", cell: (one) => h(one.is_savepoint ? "span.tag.native" : "span.tag", {}, kind(one)) },
    {
      name: "Acknowledged",
      class: "num",
      cell: (one) => `${count(one.num_acknowledged_subtasks)} of ${count(one.num_subtasks)}`,
    },
    { name: "Triggered", class: "nowrap", cell: (one) => moment(one.trigger_timestamp) },
    { name: "Last acknowledgement", class: "nowrap", cell: (one) => time(one.latest_ack_timestamp) },
    { name: "Duration", class: "num", cell: (one) => duration(one.end_to_end_duration) },
    { name: "Written", class: "num", cell: (one) => bytes(one.checkpointed_size) },
    { name: "State", class: "num", cell: (one) => bytes(one.state_size) },
  ];
  return panel(
    "History",
    list.length
      ? [
          table(columns, some, {
            keyOf: (one) => one.id,
            caption: "Checkpoints, the newest first",
            after: (one) => details.has(one.id) && detail(details.get(one.id), model),
          }),
          some.length < list.length &&
            h(
              "div.pager",
              {},
              h("span", {}, `${some.length} of ${list.length}`),
              h("button.small", { type: "button", onclick: showAll }, "Show all"),
            ),
        ]
      : empty("No checkpoint yet."),
  );
}

function detail(found, model) {
  if (!found) return empty("Loading …");
  if (found.error) return problem(found.error);
  const rows = Object.entries(found.tasks ?? {}).map(([id, task]) => ({
    ...task,
    vertex: id,
    name: model.vertex(id)?.name ?? id,
  }));
  return [
    facts([
      ["Stored at", found.external_path ? h("code", {}, found.external_path) : null],
      ["Failed because", found.failure_message],
    ]),
    rows.length > 0
      ? table(
          [
            { name: "Vertex", class: "name", cell: (one) => one.name },
            {
              name: "Acknowledged",
              class: "num",
              cell: (one) => `${count(one.num_acknowledged_subtasks)} of ${count(one.num_subtasks)}`,
            },
            { name: "Duration", class: "num", cell: (one) => duration(one.end_to_end_duration) },
            { name: "Written", class: "num", cell: (one) => bytes(one.checkpointed_size) },
            { name: "State", class: "num", cell: (one) => bytes(one.state_size) },
          ],
          rows,
          { keyOf: (one) => one.vertex, caption: "What each vertex added" },
        )
      : empty("Nothing is known of its vertices."),
  ];
}

function latest({ savepoint, failed, restored }) {
  const rows = [
    [
      "Latest savepoint",
      savepoint &&
        `${savepoint.external_path ?? `number ${savepoint.id}`}, ${moment(savepoint.trigger_timestamp)}`,
    ],
    [
      "Latest failure",
      failed &&
        `number ${failed.id}, ${moment(failed.trigger_timestamp)}: ${failed.failure_message ?? "no reason given"}`,
    ],
    [
      "Restored",
      restored &&
        `${restored.external_path ?? `number ${restored.id}`}, ${moment(restored.restore_timestamp)}`,
    ],
  ].filter(([, value]) => value);
  return rows.length > 0 && panel("Latest", facts(rows));
}

const settings = (config) =>
  panel(
    "Settings",
    facts([
      ["Mode", config.mode],
      [
        "Interval",
        config.interval >= 9e15
          ? "none: batch after batch"
          : config.interval > 0
            ? duration(config.interval)
            : "none: batch after batch",
      ],
      ["Timeout", duration(config.timeout)],
      ["Storage", config.checkpoint_storage],
      ["State backend", config.state_backend],
      [
        "When canceled",
        config.externalization?.enabled
          ? config.externalization.delete_on_cancellation
            ? "deleted"
            : "kept"
          : null,
      ],
    ]),
  );
