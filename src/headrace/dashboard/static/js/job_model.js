// What is known of one job: the answers about it, and the figures per vertex that cards and tables show.
//
// Rates and shares are Flink's metrics; where a server has none, they come from how the totals grow.

import { get, getIfThere, q } from "./api.js";
import { figure, lag } from "./format.js";
import { ENDED } from "./parts.js";

const SAMPLES = 60;
const METRICS = [
  "numRecordsInPerSecond",
  "numRecordsOutPerSecond",
  "busyTimeMsPerSecond",
  "idleTimeMsPerSecond",
  "backPressuredTimeMsPerSecond",
  "currentInputWatermark",
  "pendingRecords",
];

let current = null;

/** The model of a job; tabs of one job share it, so that rates and lines go on when the tab changes. */
export function jobModel(id) {
  if (current?.id !== id) current = new JobModel(id);
  return current;
}

class JobModel {
  constructor(id) {
    this.id = id;
    this.path = `jobs/${q(id)}`;
    this.samples = new Map(); // vertex id -> [{at, ...}], for sparklines and for growth
  }
  get ended() {
    return ENDED.has(this.job?.state);
  }
  vertex(id) {
    return this.vertices.find((vertex) => vertex.id === id);
  }
  async load(signal) {
    const job = await get(this.path, { signal });
    const live = ENDED.has(job.state)
      ? []
      : await Promise.all(job.vertices.map((vertex) => this.metricsOf(vertex, signal)));
    const diagnosis = ENDED.has(job.state) ? null : await getIfThere(`${this.path}/diagnosis`, { signal });
    this.job = job;
    this.diagnosis = diagnosis;
    const nodes = new Map((job.plan?.nodes ?? []).map((node) => [node.id, node]));
    this.vertices = job.vertices.map((vertex, index) =>
      this.figures(vertex, nodes.get(vertex.id), live[index] ?? new Map()),
    );
  }
  async metricsOf(vertex, signal) {
    const answer = await getIfThere(
      `${this.path}/vertices/${q(vertex.id)}/subtasks/metrics?get=${METRICS.join(",")}&agg=sum,avg,max,min`,
      { signal },
    );
    return new Map((answer ?? []).map((metric) => [metric.id, metric]));
  }
  figures(vertex, node, metrics) {
    const now = this.job.now > 0 ? this.job.now : Date.now();
    const of = (name, kind) => figure(metrics.get(name)?.[kind]);
    const sample = this.sample(vertex, now);
    const share = (name, grown) => {
      const perSecond = of(name, "avg");
      return perSecond === null ? grown : Math.min(1, perSecond / 1000);
    };
    const properties = node?.optimizer_properties ?? {};
    const watermark = of("currentInputWatermark", "min");
    const inRate = this.ended ? null : (of("numRecordsInPerSecond", "sum") ?? sample.inRate);
    const outRate = this.ended ? null : (of("numRecordsOutPerSecond", "sum") ?? sample.outRate);
    const source = properties.kind === "source" || !node?.inputs?.length;
    this.remember(vertex.id, source ? outRate : inRate);
    return {
      ...vertex,
      node,
      properties,
      source,
      inRate,
      outRate,
      watermark,
      recordsIn: figure(vertex.metrics?.["read-records"]),
      recordsOut: figure(vertex.metrics?.["write-records"]),
      busy: share("busyTimeMsPerSecond", sample.busy),
      idle: share("idleTimeMsPerSecond", sample.idle),
      backPressured: share("backPressuredTimeMsPerSecond", sample.backPressured),
      busiest:
        of("busyTimeMsPerSecond", "max") === null
          ? null
          : Math.min(1, of("busyTimeMsPerSecond", "max") / 1000),
      lag: this.ended ? null : lag(watermark, now),
      pending: of("pendingRecords", "sum"),
      line: this.samples.get(vertex.id).line,
    };
  }
  /** How the totals of a vertex grew since the last answer. */
  sample(vertex, now) {
    const known = this.samples.get(vertex.id) ?? { line: [] };
    const m = vertex.metrics ?? {};
    const totals = {
      at: now,
      in: figure(m["read-records"]),
      out: figure(m["write-records"]),
      tasks: Math.max(1, vertex.parallelism),
      busy: figure(m["accumulated-busy-time"]),
      idle: figure(m["accumulated-idle-time"]),
      backPressured: figure(m["accumulated-backpressured-time"]),
    };
    const before = known.totals;
    this.samples.set(vertex.id, { ...known, totals });
    const seconds = before ? (now - before.at) / 1000 : 0;
    const grown = (name) =>
      seconds <= 0 || totals[name] === null || before[name] === null || totals[name] < before[name]
        ? null
        : (totals[name] - before[name]) / seconds;
    const spent = ["busy", "idle", "backPressured"].map(grown);
    const all = spent.reduce((sum, value) => sum + (value ?? 0), 0);
    const [busy, idle, backPressured] = spent.map((value) =>
      all > 0 && value !== null ? value / all : null,
    );
    return { inRate: grown("in"), outRate: grown("out"), busy, idle, backPressured };
  }
  remember(id, rate) {
    const known = this.samples.get(id);
    known.line = [...known.line, rate].slice(-SAMPLES);
  }
}
