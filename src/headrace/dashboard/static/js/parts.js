// Small pieces that pages share: badges, tables, bars, messages.

import { h } from "./dom.js";
import { duration, moment, NONE, percent } from "./format.js";

const TONES = {
  RUNNING: "good",
  FINISHED: "done",
  COMPLETED: "good",
  FAILED: "bad",
  FAILING: "bad",
  LOST: "bad",
  CANCELED: "off",
  CANCELLING: "warn",
  CANCELING: "warn",
  RESTARTING: "warn",
  INITIALIZING: "wait",
  CREATED: "wait",
  SCHEDULED: "wait",
  DEPLOYING: "wait",
  IN_PROGRESS: "wait",
  SUSPENDED: "warn",
  RECONCILING: "warn",
};
export const ENDED = new Set(["FINISHED", "FAILED", "CANCELED", "LOST"]);

export const badge = (state, text = state) => h(`span.badge.${TONES[state] ?? "off"}`, {}, text ?? NONE);

/** What a job waits for before its tasks can start, and how long already; null if it does not. */
export function waits(job) {
  if (!job["waits-for"]) return null;
  const since = job["waits-since"];
  return `${job["waits-for"]}${since ? `, since ${moment(since)} (${duration(Date.now() - since)})` : ""}`;
}

export const empty = (...text) => h("p.empty", { key: "empty" }, ...text);

export const tile = (label, value, extra) =>
  h("div.tile", { key: label }, h("span.tile-label", {}, label), h("span.tile-value", {}, value), extra);

export const facts = (pairs) =>
  h(
    "dl.facts",
    {},
    pairs
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => h("div", { key: name }, h("dt", {}, name), h("dd", {}, value))),
  );

/** columns: [{name, cell(row), class?, sort?(row)}]; rows have a key by `keyOf`. */
export function table(columns, rows, { keyOf, caption, after, sort, onsort, rowClass } = {}) {
  const sorted = sort ? sortRows(rows, columns, sort) : rows;
  return h(
    "div.table-frame",
    { key: caption, tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption.hidden", {}, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map((column) => heading(column, sort, onsort)),
        ),
      ),
      h(
        "tbody",
        {},
        sorted.map((row) => [
          h(
            "tr",
            { key: `row ${keyOf(row)}`, class: rowClass?.(row) },
            columns.map((column) => h("td", { class: column.class }, column.cell(row))),
          ),
          after?.(row) &&
            h("tr.after", { key: `after ${keyOf(row)}` }, h("td", { colspan: columns.length }, after(row))),
        ]),
      ),
    ),
  );
}

function heading(column, sort, onsort) {
  if (!column.sort || !onsort) return h("th", { class: column.class, scope: "col" }, column.name);
  const here = sort?.by === column.name;
  return h(
    "th",
    {
      class: column.class,
      scope: "col",
      "aria-sort": here ? (sort.down ? "descending" : "ascending") : "none",
    },
    h(
      "button.sort",
      { type: "button", onclick: () => onsort({ by: column.name, down: here ? !sort.down : true }) },
      column.name,
      h("span.arrow", { "aria-hidden": "true" }, here ? (sort.down ? "▾" : "▴") : ""),
    ),
  );
}

function sortRows(rows, columns, { by, down }) {
  const value = columns.find((column) => column.name === by)?.sort;
  if (!value) return rows;
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  return [...rows].sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)));
}

/** A bar with its text; share is 0 to 1. */
export const bar = (share, text, tone = "") =>
  h(
    "span.bar-line",
    {},
    h(
      "span.bar",
      { "aria-hidden": "true" },
      h(`span.bar-fill${tone ? `.${tone}` : ""}`, {
        style: { width: `${Math.max(0, Math.min(1, share || 0)) * 100}%` },
      }),
    ),
    h("span.bar-text", {}, text),
  );

/** How a subtask spends its time: three colours and, always, words. */
export function shares({ busy, idle, backPressured }, { words = true } = {}) {
  if ([busy, idle, backPressured].every((share) => share === null || share === undefined))
    return h("span.muted", {}, "no load figures");
  const piece = (kind, share) =>
    h(`span.${kind}`, { style: { width: `${Math.max(0, Math.min(1, share ?? 0)) * 100}%` } });
  const text = `${percent(busy)} busy, ${percent(backPressured)} back-pressured, ${percent(idle)} idle`;
  return h(
    "span.shares",
    { title: text },
    h(
      "span.share-bar",
      { "aria-hidden": "true" },
      piece("busy", busy),
      piece("pressed", backPressured),
      piece("idle", idle),
    ),
    words && h("span.share-text", {}, text),
  );
}

export function filterBox(label, value, oninput) {
  return h(
    "label.filter",
    {},
    h("span.hidden", {}, label),
    h("input", {
      type: "search",
      placeholder: label,
      value,
      oninput: (event) => oninput(event.target.value),
    }),
  );
}

/** An error in its parts: what, where, how to mend it. */
export function problem(error) {
  return h(
    "div.problem",
    { role: "alert" },
    h("p.problem-what", {}, error.message),
    error.where && h("p", {}, h("span.problem-label", {}, "where"), String(error.where)),
    error.fix && h("p", {}, h("span.problem-label", {}, "fix"), String(error.fix)),
  );
}

export const panel = (title, ...content) =>
  h("section.panel", { key: title, "aria-label": title }, h("h2", {}, title), ...content);

export const keyValues = (rows, caption) =>
  table(
    [
      { name: "Key", class: "code", cell: (row) => row.key },
      { name: "Value", class: "code wrap", cell: (row) => String(row.value) },
    ],
    rows,
    { keyOf: (row) => row.key, caption },
  );

/** Options that can be looked through: `rows` of key and value, of which those with `filter` in them are shown. */
export function optionsPanel(rows, caption, filter, onfilter) {
  const shown = rows.filter(({ key, value }) =>
    `${key} ${value}`.toLowerCase().includes(filter.toLowerCase()),
  );
  return h(
    "section.panel",
    { key: "options", "aria-label": "Options" },
    h("div.panel-head", {}, h("h2", {}, "Options"), filterBox("Key or value", filter, onfilter)),
    shown.length ? keyValues(shown, caption) : empty(rows.length ? "No option matches." : "Nothing was set."),
  );
}
