// Savepoint, checkpoint, rescale, stop, cancel: buttons that ask.

import { finished, getIfThere, q, send } from "../api.js";
import { ask } from "../dialog.js";
import { h } from "../dom.js";
import { may, mayNot } from "../roles.js";

const TARGET = {
  name: "target",
  label: "Directory (empty: the configured one)",
  hint: "A path or an address that the job can write to.",
};

export function actionButtons(model, { config, refresh }) {
  if (model.ended || model.job.state === "CANCELLING") return null;
  if (!may(config, "operate"))
    return h("p.muted", {}, mayNot(config, "Savepoint, checkpoint, rescale, stop, cancel", "operate"));
  const waiting = model.job.state === "CREATED";
  const features = config.features ?? {};
  const button = (label, open, more) =>
    h("button", { key: label, type: "button", onclick: () => open(model, { refresh }), ...more }, label);
  return h(
    "div.job-buttons",
    { role: "group", "aria-label": "Change this job" },
    !waiting && button("Savepoint", savepoint),
    !waiting && button("Checkpoint", checkpoint),
    !waiting && features["web-rescale"] !== false && button("Rescale", rescale),
    !waiting && button("Stop", stop),
    features["web-cancel"] !== false && button("Cancel", cancel, { class: "danger" }),
  );
}

const then = (refresh) => (sentence) => (refresh(), sentence);

function savepoint(model, { refresh }) {
  ask({
    title: `Take a savepoint of ${model.job.name}?`,
    text: "The job keeps running. A savepoint stays until it is deleted, and a changed program or another parallelism can start from it.",
    fields: [TARGET],
    confirm: "Take savepoint",
    busy: "The job writes its state …",
    act: async ({ target }) => {
      const { "request-id": id } = await send("POST", `${model.path}/savepoints`, {
        "target-directory": target || null,
        "cancel-job": false,
      });
      const { location } = await finished(`${model.path}/savepoints/${q(id)}`);
      return then(refresh)(`The savepoint is at ${location}`);
    },
  });
}

function checkpoint(model, { refresh }) {
  ask({
    title: `Make a checkpoint of ${model.job.name}?`,
    text: "It is made now, and holds all that was processed so far. The job keeps running, and replaces it by its next one.",
    confirm: "Make checkpoint",
    busy: "The job ends its epoch …",
    act: async () => {
      const { "request-id": id } = await send("POST", `${model.path}/checkpoints`, {});
      const { checkpointId } = await finished(`${model.path}/checkpoints/${q(id)}`);
      return then(refresh)(`Checkpoint ${checkpointId} is made.`);
    },
  });
}

function stop(model, { refresh }) {
  ask({
    title: `Stop ${model.job.name}?`,
    text: "The job ends after what it is doing now. With a savepoint it can go on later, also as a changed program.",
    fields: [
      { name: "savepoint", type: "check", label: "Take a savepoint", value: true },
      TARGET,
      {
        name: "drain",
        type: "check",
        label: "Drain",
        hint: "Event time reaches its end: open windows and timers fire. Not for a job that is to go on where it was.",
      },
    ],
    confirm: "Stop job",
    danger: true,
    busy: "The job writes its state and ends …",
    act: async ({ target, drain, savepoint }) => {
      const { "request-id": id } = await send("POST", `${model.path}/stop`, {
        targetDirectory: target || null,
        drain,
        savepoint,
      });
      const { location } = await finished(`${model.path}/savepoints/${q(id)}`);
      return then(refresh)(location ? `Stopped. The savepoint is at ${location}` : "Stopped.");
    },
  });
}

function cancel(model, { refresh }) {
  ask({
    title: `Cancel ${model.job.name}?`,
    text: "The job ends now, without a savepoint; what the running batch has done is thrown away.",
    confirm: "Cancel job",
    danger: true,
    act: async () => {
      await send("PATCH", `${model.path}?mode=cancel`);
      return then(refresh)("The job is being canceled.");
    },
  });
}

async function rescale(model, { refresh }) {
  const proposal = await getIfThere(`${model.path}/rescale`).catch(() => null);
  const current = model.job.parallelism ?? Math.max(1, ...model.vertices.map((vertex) => vertex.parallelism));
  const box = ask({
    title: `Rescale ${model.job.name}?`,
    text: [
      `It runs with parallelism ${current}. It is stopped with a savepoint and starts again from it with the new one.`,
      proposal?.reason && h("p", {}, `Proposed: ${proposal.proposed ?? current}. ${proposal.reason}`),
    ],
    fields: [
      {
        name: "parallelism",
        type: "number",
        label: "New parallelism",
        value: proposal?.proposed ?? current,
        min: 1,
        max: Math.max(1, model.job.maxParallelism || 32768),
        required: true,
      },
    ],
    confirm: "Rescale job",
    busy: "Savepoint, stop, start …",
    act: async ({ parallelism }) => {
      const { "request-id": id } = await send("POST", `${model.path}/rescale`, { parallelism });
      const { "job-id": next } = await finished(`${model.path}/rescaling/${q(id)}`);
      refresh();
      if (!next || next === model.id) return `The job runs with parallelism ${parallelism}.`;
      return [
        "It goes on from its savepoint as ",
        h("a", { href: `#/jobs/${q(next)}`, onclick: () => box.close() }, `job ${next.slice(0, 8)}`),
        ` with parallelism ${parallelism}.`,
      ];
    },
  });
}
