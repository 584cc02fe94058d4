// Who waits for whom: the load of every vertex, and of each of its subtasks.

import { getIfThere, q } from "../api.js";
import { h } from "../dom.js";
import { count, figure, percent, time } from "../format.js";
import { empty, panel, shares, table } from "../parts.js";
import { advice } from "./job_advice.js";
import { loadKey } from "./job_graph.js";

const LEVELS = { ok: ["", "ok"], low: ["warn", "low"], high: ["bad", "high"] };

export function backPressureTab(model, { signal }) {
  let found = [];
  return {
    async load() {
      const ask = ({ id }) => getIfThere(`${model.path}/vertices/${q(id)}/backpressure`, { signal });
      found = model.ended ? [] : await Promise.all(model.vertices.map(ask));
    },
    view: () => [
      advice(model),
      h(
        "section.panel",
        { key: "pressure", "aria-label": "Back pressure" },
        h("div.panel-head", {}, h("h2", {}, "Back pressure"), loadKey()),
        h(
          "p.muted",
          {},
          "A vertex is back-pressured while it waits for those after it. The slow one is the busy one behind the last that is back-pressured.",
        ),
        found.some(Boolean)
          ? pressureTable(model, found)
          : empty(model.ended ? "The job has ended." : "No figures yet."),
      ),
      found.some((one) => one?.subtasks?.length) &&
        panel(
          "Subtasks",
          h(
            "div.load-list",
            {},
            found.map(
              (one, index) =>
                one?.subtasks?.length > 0 &&
                subtaskLoad(model.vertices[index], one, index === busiest(model)),
            ),
          ),
        ),
    ],
  };
}

function levelTag(level) {
  const [tone, word] = LEVELS[level] ?? ["", level ?? "unknown"];
  return h(`span.tag${tone ? `.${tone}` : ""}`, {}, word);
}

function pressureTable(model, found) {
  const rows = model.vertices.map((vertex, index) => ({ vertex, load: found[index] }));
  return table(
    [
      {
        name: "Vertex",
        class: "name",
        cell: ({ vertex }) => h("a", { href: `#/jobs/${q(model.id)}/graph/${q(vertex.id)}` }, vertex.name),
      },
      {
        name: "Back pressure",
        cell: ({ load }) => levelTag(load?.backpressureLevel ?? load?.["backpressure-level"]),
      },
      { name: "Load, mean of the subtasks", cell: ({ vertex }) => shares(vertex) },
      { name: "Busiest subtask", class: "num", cell: ({ vertex }) => percent(vertex.busiest) },
      { name: "Measured", class: "nowrap", cell: ({ load }) => time(load?.["end-timestamp"]) },
    ],
    rows,
    { keyOf: ({ vertex }) => vertex.id, caption: "Back pressure of each vertex" },
  );
}

const busiest = ({ vertices }) =>
  vertices.reduce(
    (best, vertex, index) =>
      (vertex.busiest ?? vertex.busy ?? 0) > (vertices[best].busiest ?? vertices[best].busy ?? 0)
        ? index
        : best,
    0,
  );

const subtaskLoad = (vertex, load, open) =>
  h(
    "details",
    { key: vertex.id, open },
    h("summary", {}, vertex.name),
    table(
      [
        { name: "Subtask", class: "num", cell: (one) => count(one.subtask) },
        {
          name: "Back pressure",
          cell: (one) => levelTag(one.backpressureLevel ?? one["backpressure-level"]),
        },
        {
          name: "Load",
          cell: (one) =>
            shares({
              busy: figure(one.busyRatio),
              idle: figure(one.idleRatio),
              backPressured: figure(one.ratio),
            }),
        },
      ],
      load.subtasks,
      { keyOf: (one) => one.subtask, caption: `Load of the subtasks of ${vertex.name}` },
    ),
  );
