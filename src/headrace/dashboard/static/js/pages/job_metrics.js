// Metrics as lines over time: four that everyone wants, and those that the user adds.

import { get, getIfThere, q } from "../api.js";
import { h } from "../dom.js";
import { bytes, duration, figure, lag, percent, short } from "../format.js";
import { panel } from "../parts.js";
import { plot } from "../plot.js";

const KEPT = 1200; // points a line
const NAMES = [
  "numRecordsInPerSecond",
  "numRecordsOutPerSecond",
  "busyTimeMsPerSecond",
  "backPressuredTimeMsPerSecond",
  "currentInputWatermark",
];
const JOB = "job";

let kept = null; // {job, store, chosen}: lines go on while other tabs are looked at

export function metricsTab(model, { signal, redraw }) {
  if (kept?.job !== model.id) kept = { job: model.id, store: new Map(), chosen: [] };
  const { store, chosen } = kept;
  const state = { vertex: JOB, metric: "", names: [] };
  const wanted = () => [
    ...model.vertices.flatMap((vertex) => NAMES.map((name) => `${vertex.id}.${name}`)),
    ...chosen.map(({ vertex, metric }) => `${vertex}.${metric}`),
  ];
  const list = async () => {
    const path =
      state.vertex === JOB
        ? `${model.path}/metrics`
        : `${model.path}/vertices/${q(state.vertex)}/subtasks/metrics`;
    const answer = (await getIfThere(path, { signal })) ?? [];
    state.names = answer.map(({ id }) => id).sort();
  };
  return {
    async load() {
      await Promise.all([past(model, wanted(), store, signal), list()]);
      if (!model.ended) await present(model, chosen, store, signal);
    },
    view: () => [standard(model, store), own(model, { state, chosen, store, list, redraw })],
  };
}

/** What was measured before this page was opened; asked once for each metric. */
async function past(model, ids, store, signal) {
  const missing = ids.filter((id) => !store.has(id));
  if (!missing.length) return;
  missing.forEach((id) => store.set(id, []));
  const answer = await getIfThere(`${model.path}/metrics/history?get=${missing.map(q).join(",")}`, {
    signal,
  });
  for (const { id, points } of answer?.series ?? [])
    store.set(
      id,
      points.map(([ms, value]) => [ms, figure(value)]),
    );
}

async function present(model, chosen, store, signal) {
  const now = model.job.now > 0 ? model.job.now : Date.now();
  for (const vertex of model.vertices) {
    add(store, `${vertex.id}.numRecordsInPerSecond`, now, vertex.inRate);
    add(store, `${vertex.id}.numRecordsOutPerSecond`, now, vertex.outRate);
    add(store, `${vertex.id}.busyTimeMsPerSecond`, now, vertex.busy === null ? null : vertex.busy * 1000);
    add(
      store,
      `${vertex.id}.backPressuredTimeMsPerSecond`,
      now,
      vertex.backPressured === null ? null : vertex.backPressured * 1000,
    );
    add(store, `${vertex.id}.currentInputWatermark`, now, vertex.watermark);
  }
  const mine = Object.entries(
    Object.groupBy(
      chosen.filter(({ metric }) => !NAMES.includes(metric)),
      ({ vertex }) => vertex,
    ),
  );
  await Promise.all(
    mine.map(async ([vertex, list]) => {
      const names = list.map(({ metric }) => q(metric)).join(",");
      const answer =
        vertex === JOB
          ? await get(`${model.path}/metrics?get=${names}`, { signal })
          : await get(`${model.path}/vertices/${q(vertex)}/subtasks/metrics?get=${names}&agg=sum`, {
              signal,
            });
      for (const metric of answer)
        add(store, `${vertex}.${metric.id}`, now, figure(metric.value ?? metric.sum));
    }),
  );
}

function add(store, id, ms, value) {
  const points = store.get(id) ?? [];
  if (value === null || value === undefined || (points.length && points.at(-1)[0] >= ms)) return;
  store.set(id, [...points, [ms, value]].slice(-KEPT));
}

function standard(model, store) {
  // a vertex has its colour in all plots
  const lines = (metric, wanted, change = (value) => value) =>
    model.vertices
      .map((vertex, color) => ({ vertex, color }))
      .filter(({ vertex }) => wanted(vertex))
      .map(({ vertex, color }) => ({
        name: vertex.name,
        color,
        points: (store.get(`${vertex.id}.${metric}`) ?? []).map(([ms, value]) => [
          ms,
          value === null ? null : change(value, ms),
        ]),
      }))
      .filter(({ points }) => points.some(([, value]) => value !== null));
  return h(
    "section.panel",
    { key: "standard", "aria-label": "Throughput, load and lag" },
    h(
      "div.plots",
      {},
      plot({
        title: "Records in per second",
        series: lines("numRecordsInPerSecond", (vertex) => !vertex.source),
        format: short,
      }),
      plot({
        title: "Records out per second",
        series: lines("numRecordsOutPerSecond", (vertex) => vertex.properties.kind !== "sink"),
        format: short,
      }),
      plot({
        title: "Busy",
        series: lines(
          "busyTimeMsPerSecond",
          () => true,
          (value) => value / 1000,
        ),
        format: percent,
      }),
      plot({
        title: "Watermark behind the clock",
        series: lines(
          "currentInputWatermark",
          () => true,
          (value, ms) => lag(value, ms),
        ),
        format: duration,
      }),
    ),
  );
}

const formatOf = (name) =>
  /bytes|size/i.test(name)
    ? bytes
    : /duration|latency|time(?!s)/i.test(name) && !/PerSecond/.test(name)
      ? duration
      : short;

function own(model, { state, chosen, store, list, redraw }) {
  const addPlot = (event) => {
    event.preventDefault();
    const { vertex, metric } = state;
    if (metric && !chosen.some((one) => one.vertex === vertex && one.metric === metric))
      chosen.push({ vertex, metric });
    state.metric = "";
    redraw();
  };
  const remove = (one) => (chosen.splice(chosen.indexOf(one), 1), redraw());
  const name = ({ vertex, metric }) =>
    `${vertex === JOB ? "job" : (model.vertex(vertex)?.name ?? vertex)}: ${metric}`;
  return panel(
    "Metrics of your choice",
    h(
      "form.choice",
      { onsubmit: addPlot },
      h(
        "label.field",
        {},
        h("span", {}, "Of"),
        h(
          "select",
          {
            name: "vertex",
            onchange: (event) => (
              (state.vertex = event.target.value),
              (state.metric = ""),
              list().then(redraw)
            ),
          },
          h("option", { value: JOB }, "the whole job"),
          model.vertices.map((vertex) =>
            h("option", { key: vertex.id, value: vertex.id }, vertex.name.slice(0, 60)),
          ),
        ),
      ),
      h(
        "label.field",
        {},
        h("span", {}, "Metric"),
        h("input", {
          type: "text",
          name: "metric",
          list: "metric-names",
          placeholder: `${state.names.length} to choose from`,
          value: state.metric,
          oninput: (event) => (state.metric = event.target.value),
          size: 44,
        }),
      ),
      h(
        "datalist",
        { id: "metric-names" },
        state.names.map((one) => h("option", { key: one, value: one })),
      ),
      h("button.primary", { type: "submit" }, "Add plot"),
    ),
    chosen.length > 0 &&
      h(
        "div.plots",
        {},
        chosen.map((one) =>
          h(
            "div",
            { key: name(one) },
            plot({
              title: name(one),
              series: [{ name: one.metric, points: store.get(`${one.vertex}.${one.metric}`) ?? [] }],
              format: formatOf(one.metric),
              note: "No figures yet; they come with the next answer.",
            }),
            h("button.small", { type: "button", onclick: () => remove(one) }, "Remove"),
          ),
        ),
      ),
  );
}
