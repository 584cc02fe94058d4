// What limits a job, in sentences: the slow step, subtasks with too much, sources that lag, splits that hold event time, long epochs.

import { h } from "../dom.js";
import { count, duration, moment, percent } from "../format.js";
import { panel } from "../parts.js";

export function advice({ diagnosis }) {
  const found = diagnosis
    ? [
        ...slow(diagnosis.slow),
        ...(diagnosis.skews ?? []).map(skew),
        ...(diagnosis.lags ?? []).filter(behind).map(lagging),
        ...(diagnosis.held ?? []).map(held),
        ...long(diagnosis.epochs),
      ]
    : [];
  return found.length > 0 && panel("What limits this job", h("ul.advice", {}, found));
}

const slow = (step) =>
  step
    ? [
        h(
          "li",
          { key: "slow" },
          h("span.tag.warn", {}, "slow"),
          h(
            "span",
            {},
            h("strong", {}, step.name),
            `: ${step.reason || `busy ${percent(step.busy)} of the time`} `,
            step.where && h("div.muted.code", {}, step.where),
          ),
        ),
      ]
    : [];

const skew = ({ vertex, name, what, subtask, ratio }) =>
  h(
    "li",
    { key: `skew ${vertex} ${what}` },
    h("span.tag.warn", {}, "skew"),
    h(
      "span",
      {},
      "Subtask ",
      h("strong", {}, count(subtask)),
      ` of ${name} has ${Number(ratio).toFixed(1)} times the mean of ${what}.`,
    ),
  );

const behind = (lag) => lag.pending_records > 0 || lag.records_lag_max > 0;
const lagging = ({ vertex, name, pending_records: pending, records_lag_max: most, seconds }) =>
  h(
    "li",
    { key: `lag ${vertex}` },
    h("span.tag", {}, "lag"),
    h(
      "span",
      {},
      h("strong", {}, count(pending ?? most)),
      ` records wait in front of ${name}`,
      seconds ? `: ${duration(seconds * 1000)} of work.` : ".",
    ),
  );

const held = ({ vertex, name, split, watermark, silent_s: seconds, fix }) =>
  h(
    "li",
    { key: `held ${vertex} ${split}` },
    h("span.tag.warn", {}, "held"),
    h(
      "span",
      {},
      "Split ",
      h("strong", {}, split),
      ` of ${name} holds event time: `,
      watermark === null ? "it has had no record yet" : `it is at ${moment(watermark)}`,
      ` and has been silent for ${duration(seconds * 1000)}.`,
      fix && h("div.muted", {}, fix),
    ),
  );

const long = (epochs) =>
  epochs
    ? [
        h(
          "li",
          { key: "long" },
          h("span.tag.warn", {}, "long"),
          h(
            "span",
            {},
            `Each of the last ${count(epochs.count)} epochs took at least `,
            h("strong", {}, `${epochs.ratio} times`),
            ` the interval of ${duration(epochs.interval_ms)}, the newest ${duration(epochs.duration_ms)}.`,
            epochs.fix && h("div.muted", {}, epochs.fix),
          ),
        ),
      ]
    : [];
