// Where the tasks of a vertex spend their time: a flame graph, of all of its subtasks or of one.

import { get, q } from "../api.js";
import { h } from "../dom.js";
import { flameGraph } from "../flame_graph.js";
import { count, moment } from "../format.js";
import { empty } from "../parts.js";

const KINDS = [
  ["full", "Mixed"],
  ["on_cpu", "On CPU"],
  ["off_cpu", "Off CPU"],
];
// what Flink's answers have in the place of a time
const [OVER, OFF, WAITING] = [-1, -2, -3];

let kind = "full"; // the user's choice lasts while the page is open

export function flameGraphTab(model, { signal, redraw, go }, [chosen]) {
  let graph = null;
  let subtask = "";
  let at = [];
  let first; // the busiest when the page was opened: it does not change under who reads
  const vertex = () => model.vertex(chosen ?? (first ??= busiest(model)?.id));
  async function load() {
    const one = vertex();
    const of = subtask === "" ? "" : `&subtaskindex=${subtask}`;
    graph = one
      ? await get(`${model.path}/vertices/${q(one.id)}/flamegraph?type=${kind}${of}`, { signal })
      : null;
  }
  const change = (act) => {
    act();
    at = [];
    load().then(redraw, () => {}); // the page tells itself when the server is gone
  };
  return {
    load,
    view() {
      const one = vertex();
      return h(
        "section.panel",
        { key: "flame graph", "aria-label": "Flame graph" },
        h("div.panel-head", {}, h("h2", {}, "Flame graph"), one && tools(one)),
        one ? drawing(one) : empty("The plan is not known yet: the program has not been translated."),
      );
    },
  };

  function tools(one) {
    return h(
      "div.panel-tools",
      {},
      select(
        "Vertex",
        one.id,
        model.vertices.map(({ id, name }) => [id, name]),
        (id) => go("jobs", model.id, "flames", id),
      ),
      select(
        "Subtask",
        subtask,
        [["", "All subtasks"], ...Array.from({ length: one.parallelism }, (_, n) => [`${n}`, `Subtask ${n}`])],
        (value) => change(() => (subtask = value)),
      ),
      select("Of threads", kind, KINDS, (value) => change(() => (kind = value))),
    );
  }

  function drawing(one) {
    const when = graph?.endTimestamp;
    if (when === OVER) return empty("The tasks have ended.");
    if (when === WAITING) return empty("The tasks are being looked at …");
    if (when === OFF || !graph?.data)
      return empty(
        one.properties.runs === "native"
          ? "Spark runs this vertex itself (native): its calls are not those of steps. The threads of executors show them."
          : "Flame graphs are off: the dispatcher draws them with rest.flamegraph.enabled: true.",
      );
    if (!graph.data.value)
      return empty("No task was seen at work: between two batches, and without records, there are none.");
    const narrow = (names) => {
      at = typeof names === "number" ? at.slice(0, names) : [...at, ...names];
      redraw();
    };
    return [
      h(
        "p.muted",
        { key: "looks" },
        `${count(graph.data.value)} looks, ended at ${moment(graph.endTimestamp)}. A bar is as wide as its call was seen; choose one to see it as a whole.`,
      ),
      flameGraph(graph.data, at, narrow),
    ];
  }
}

const busiest = ({ vertices }) =>
  [...vertices].sort((a, b) => (b.busy ?? 0) - (a.busy ?? 0))[0];

const select = (label, value, options, onchange) =>
  h(
    "label",
    { key: label },
    h("span.hidden", {}, label),
    h(
      "select",
      { "aria-label": label, onchange: (event) => onchange(event.target.value) },
      options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
    ),
  );
