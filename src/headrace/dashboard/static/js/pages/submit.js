// Upload a program and run it, where the server allows it.

import { ApiError, get, q, send } from "../api.js";
import { ask } from "../dialog.js";
import { h } from "../dom.js";
import { moment } from "../format.js";
import { empty, panel, problem, table } from "../parts.js";
import { may, mayNot } from "../roles.js";

export function submit(_, context) {
  const { signal, redraw, config } = context;
  const offered = config.features?.["web-submit"];
  let list = null,
    state = { busy: null, error: null };
  const upload = async (file) => {
    if (!file) return;
    state = { busy: file.name, error: null };
    redraw();
    try {
      const form = new FormData();
      form.append("jarfile", file, file.name);
      await send("POST", "jars/upload", form);
      ({ files: list } = await get("jars"));
      state = { busy: null, error: null };
    } catch (error) {
      state = { busy: null, error };
    }
    redraw();
  };
  return {
    title: () => "Submit",
    async load() {
      if (offered && may(config, "submit")) ({ files: list } = await get("jars", { signal }));
    },
    view() {
      if (!offered) return empty("This dispatcher takes no programs over the web.");
      if (!may(config, "submit")) return empty(mayNot(config, "Programs are brought, run and deleted", "submit"));
      return [
        h("h1", { key: "h1" }, "Submit a program"),
        dropZone(upload, state),
        panel("Programs", list.length ? programs(list, context) : empty("No program was uploaded yet.")),
      ];
    },
  };
}

function dropZone(upload, { busy, error }) {
  const mark = (event, on) => (event.preventDefault(), event.currentTarget.classList.toggle("over", on));
  return h(
    "section.panel",
    { key: "upload", "aria-label": "Upload" },
    h(
      "div.drop",
      {
        ondragover: (event) => mark(event, true),
        ondragleave: (event) => mark(event, false),
        ondrop: (event) => (mark(event, false), upload(event.dataTransfer.files[0])),
      },
      h(
        "label.field",
        {},
        h("span", {}, "A Python file, or a zip of a package"),
        h("input", {
          type: "file",
          name: "program",
          accept: ".py,.zip",
          disabled: Boolean(busy),
          onchange: (event) => (upload(event.target.files[0]), (event.target.value = "")),
        }),
      ),
      h("span", { role: "status" }, busy ? `Uploading ${busy} …` : "Choose one, or drop it here."),
    ),
    error && problem(error),
  );
}

function programs(list, context) {
  return table(
    [
      { name: "Name", class: "name", cell: (one) => one.name },
      { name: "Uploaded", class: "nowrap", cell: (one) => moment(one.uploaded) },
      {
        name: "",
        class: "num",
        cell: (one) =>
          h(
            "div.job-buttons",
            {},
            h("button.primary.small", { type: "button", onclick: () => run(one) }, "Run"),
            h("button.danger.small", { type: "button", onclick: () => remove(one, context) }, "Delete"),
          ),
      },
    ],
    list,
    { keyOf: (one) => one.id, caption: "Uploaded programs" },
  );
}

function run(program) {
  const box = ask({
    title: `Run ${program.name}?`,
    text: "It starts as a job in a process of its own, or waits for free slots.",
    fields: [
      { name: "entry", label: "Function to call (empty: run the file)", placeholder: "package.module:main" },
      { name: "args", label: "Arguments", hint: "Separated by spaces; quotes keep words together." },
      { name: "parallelism", type: "number", label: "Parallelism (empty: the program's own)", min: 1 },
      { name: "savepoint", label: "Start from a savepoint", placeholder: "/path/to/savepoint" },
      { name: "unclaimed", type: "check", label: "Drop state that no step of the program claims" },
    ],
    confirm: "Run program",
    busy: "Starting …",
    act: async ({ entry, args, parallelism, savepoint, unclaimed }) => {
      const { jobid } = await send("POST", `jars/${q(program.id)}/run`, {
        entryClass: entry || null,
        programArgsList: words(args),
        parallelism: parallelism || null,
        savepointPath: savepoint || null,
        allowNonRestoredState: unclaimed,
      });
      if (!jobid) throw new ApiError("The server did not name the job it started.");
      return ["It runs as ", h("a", { href: `#/jobs/${q(jobid)}`, onclick: () => box.close() }, jobid), "."];
    },
  });
}

/** Splits like a shell, as far as quotes go. */
export const words = (text) =>
  [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare,
  );

function remove(program, { refresh }) {
  ask({
    title: `Delete ${program.name}?`,
    text: "Jobs that were started from it keep running.",
    confirm: "Delete program",
    danger: true,
    act: async () => {
      await send("DELETE", `jars/${q(program.id)}`);
      refresh();
      return "The program was deleted.";
    },
  });
}
