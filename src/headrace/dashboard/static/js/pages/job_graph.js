// The graph of a job: a card for each vertex in the column of its level, live figures, the subtasks of the chosen one.

import { h, s } from "../dom.js";
import { count, duration, NONE, percent, rate, watermark } from "../format.js";
import { layOut } from "../layout.js";
import { badge, bar, empty, shares, table } from "../parts.js";
import { sparkline } from "../plot.js";
import { advice } from "./job_advice.js";
import { subtasksOf } from "./job_subtasks.js";

const CARD = { cardWidth: 236, cardHeight: 142, gapX: 84, gapY: 26 };
const PAD = { x: 22, top: 34, bottom: 18 };
const ZOOMS = [0.5, 0.65, 0.8, 1, 1.25];

let zoom = null; // null: what fits; the user's choice lasts while the page is open

export function graphTab(model, { signal, redraw, go }, [chosen]) {
  const subtasks = chosen ? subtasksOf(model, chosen, signal) : null;
  const choose = (id) => go("jobs", model.id, "graph", ...(id === chosen ? [] : [id]));
  return {
    load: () => subtasks?.load(),
    view: () => [
      advice(model),
      graphPanel(model, chosen, choose, redraw),
      h(
        "section.panel",
        { key: "vertices", "aria-label": "Vertices" },
        h("h2", {}, "Vertices"),
        vertexTable(model, chosen, choose, subtasks),
      ),
    ],
  };
}

function graphPanel(model, chosen, choose, redraw) {
  const setZoom = (value) => ((zoom = value), redraw());
  return h(
    "section.panel",
    { key: "graph", "aria-label": "Graph" },
    h("div.panel-head", {}, h("h2", {}, "Graph"), h("div.panel-tools", {}, loadKey(), zoomButtons(setZoom))),
    model.vertices.length
      ? drawing(model, chosen, choose)
      : empty("The plan is not known yet: the program has not been translated."),
  );
}

export const loadKey = () =>
  h(
    "div.key",
    {},
    [
      ["busy", "busy"],
      ["pressed", "back-pressured"],
      ["idle", "idle"],
    ].map(([kind, text]) => h("span", { key: kind }, h(`i.${kind}`, {}), text)),
  );

function zoomButtons(setZoom) {
  const step = (by) => {
    const at = ZOOMS.findIndex((value) => value >= (zoom ?? 1));
    setZoom(ZOOMS[Math.max(0, Math.min(ZOOMS.length - 1, at + by))]);
  };
  return h(
    "div.zoom",
    { role: "group", "aria-label": "Size of the graph" },
    h("button.small", { type: "button", "aria-label": "Smaller", onclick: () => step(-1) }, "−"),
    h("button.small", { type: "button", onclick: () => setZoom(null) }, "Fit"),
    h("button.small", { type: "button", "aria-label": "Larger", onclick: () => step(1) }, "+"),
  );
}

function drawing(model, chosen, choose) {
  const nodes = model.vertices.map(({ id, node, properties }) => ({
    id,
    level: properties.level,
    inputs: node?.inputs ?? [],
  }));
  const found = layOut(nodes, CARD);
  const [width, height] = [found.width + 2 * PAD.x, found.height + PAD.top + PAD.bottom];
  const room = Math.max(300, document.getElementById("main").clientWidth - 84);
  const scale = zoom ?? Math.max(0.62, Math.min(1, room / width));
  const withLevels = model.vertices.some(({ properties }) => Number.isInteger(properties.level));
  return h(
    "div.graph-frame",
    { tabindex: "0", role: "region", "aria-label": "Graph of the job; the table below says the same" },
    h(
      "div.graph-size",
      { style: { width: `${width * scale}px`, height: `${height * scale}px` } },
      h(
        "div.graph",
        { style: { width: `${width}px`, height: `${height}px`, transform: `scale(${scale})` } },
        withLevels && found.levels.map((level) => band(level, height)),
        s(
          "svg",
          { width, height, "aria-hidden": "true" },
          found.edges.map((edge) => edgeOf(edge)),
        ),
        model.vertices.map((vertex) => card(vertex, found.places.get(vertex.id), { model, chosen, choose })),
      ),
    ),
  );
}

const band = ({ level, from, to }, height) =>
  h(
    "div.band",
    {
      key: `band ${level}`,
      style: {
        left: `${from + PAD.x - 12}px`,
        width: `${to - from + 24}px`,
        top: "6px",
        height: `${height - 12}px`,
      },
    },
    h("span", {}, `Level ${level}`),
  );

function edgeOf({ from, to, input, points }) {
  const exchange = input.ship_strategy !== "FORWARD";
  const middle = (at) => at.y + PAD.top + CARD.cardHeight / 2;
  const [x0, xn] = [points[0].x + PAD.x + CARD.cardWidth, points.at(-1).x + PAD.x - 9];
  // through the columns between, at the height that the layout kept free
  const stops = [
    [x0, middle(points[0])],
    ...points.slice(1, -1).flatMap((at) => [
      [at.x + PAD.x, middle(at)],
      [at.x + PAD.x + CARD.cardWidth, middle(at)],
    ]),
    [xn, middle(points.at(-1))],
  ];
  const path = stops.slice(1).reduce(
    (d, [x, y], index) => {
      const [px, py] = stops[index];
      const bend = (x - px) / 2;
      return `${d}C${px + bend} ${py} ${x - bend} ${y} ${x} ${y}`;
    },
    `M${stops[0].join(" ")}`,
  );
  const [hx, hy] = stops.at(-1);
  const [ax, ay] = [hx - CARD.gapX / 2 + 5, (hy + stops.at(-2)[1]) / 2];
  return s(
    "g",
    { key: `${from} ${to} ${input.num ?? 0}` },
    s("path", { d: path, class: exchange ? "edge exchange" : "edge" }),
    s("path", { d: `M${hx} ${hy - 5}l9 5l-9 5z`, class: exchange ? "edge-head exchange" : "edge-head" }),
    s("text.edge-label", { x: ax, y: ay - 7 }, String(input.ship_strategy ?? "").toLowerCase()),
  );
}

function card(vertex, place, { model, chosen, choose }) {
  const slow = model.diagnosis?.slow?.vertex === vertex.id;
  return h(
    "button.card",
    {
      key: vertex.id,
      type: "button",
      class: [vertex.id === chosen && "chosen", slow && "slow"].filter(Boolean).join(" "),
      "data-vertex": vertex.id,
      "aria-pressed": String(vertex.id === chosen),
      title: vertex.name,
      onclick: () => choose(vertex.id),
      style: {
        left: `${place.x + PAD.x}px`,
        top: `${place.y + PAD.top}px`,
        width: `${CARD.cardWidth}px`,
        height: `${CARD.cardHeight}px`,
      },
    },
    h("span.card-name", {}, vertex.name),
    h(
      "span.card-line",
      {},
      h("span", {}, runsTag(vertex), " ", slow && h("span.tag.warn", {}, "slowest")),
      h("span", {}, `× ${vertex.parallelism}`),
    ),
    h(
      "span.card-line",
      {},
      h("strong", { "data-figure": "rate" }, flow(vertex)),
      sparkline(vertex.line, { width: 64, height: 18 }),
    ),
    shares(vertex, { words: false }),
    h(
      "span.card-line",
      {},
      h("span", {}, loadWords(vertex)),
      h("span", { title: `watermark ${watermark(vertex.watermark)}` }, lagWords(vertex)),
    ),
  );
}

export function runsTag({ properties }) {
  if (properties.runs === "native")
    return h("span.tag.native", { title: "Spark runs it itself, in Catalyst" }, "native");
  return properties.runs === "python" && h("span.tag", { title: "runs in Python workers" }, "Python");
}

const flow = ({ source, inRate, outRate, recordsIn, recordsOut }) => {
  if (inRate === null && outRate === null) return `${count(source ? recordsOut : recordsIn)} records`;
  return source ? `${rate(outRate)} out` : `${rate(inRate)} in`;
};
function loadWords({ busy, busiest, backPressured }) {
  if (busy === null) return "";
  if (backPressured > 0.5) return `${percent(backPressured)} back-pressured`;
  return busiest !== null && busiest - busy > 0.1
    ? `${percent(busy)} busy, max ${percent(busiest)}`
    : `${percent(busy)} busy`;
}
const lagWords = (vertex) => (vertex.lag === null ? "" : `lag ${duration(vertex.lag)}`);

function vertexTable(model, chosen, choose, subtasks) {
  const most = Math.max(
    1,
    ...model.vertices.map((vertex) => Math.max(vertex.recordsIn ?? 0, vertex.recordsOut ?? 0)),
  );
  const columns = [
    {
      name: "Name",
      class: "name",
      cell: (v) =>
        h(
          "div.with-toggle",
          {},
          h(
            "button.plain.small",
            {
              type: "button",
              "aria-expanded": String(v.id === chosen),
              "aria-label": `Subtasks of ${v.name}`,
              onclick: () => choose(v.id),
            },
            v.id === chosen ? "▾" : "▸",
          ),
          h("div", {}, v.name, callSite(v.properties.call_site)),
        ),
    },
    { name: "State", cell: (v) => badge(v.status) },
    { name: "×", class: "num", cell: (v) => count(v.parallelism) },
    {
      name: "Records in",
      class: "num",
      cell: (v) => (v.source && !v.recordsIn ? NONE : recordsCell(v.recordsIn, v.inRate, most)),
    },
    {
      name: "Records out",
      class: "num",
      cell: (v) =>
        v.properties.kind === "sink" && !v.recordsOut ? NONE : recordsCell(v.recordsOut, v.outRate, most),
    },
    { name: "Load", cell: (v) => shares(v) },
    {
      name: "Watermark",
      class: "nowrap",
      cell: (v) => [
        watermark(v.watermark),
        v.lag !== null && h("div.muted", {}, `${duration(v.lag)} behind`),
      ],
    },
    { name: "Waiting", class: "num", cell: (v) => (v.pending === null ? NONE : count(v.pending)) },
  ];
  return model.vertices.length
    ? table(columns, model.vertices, {
        keyOf: (v) => v.id,
        caption: "Vertices of the job",
        after: (v) => v.id === chosen && subtasks?.view(),
        rowClass: (v) => v.id === chosen && "chosen",
      })
    : empty("No vertices yet.");
}

const recordsCell = (total, perSecond, most) => [
  count(total),
  perSecond !== null && h("div.muted", {}, rate(perSecond)),
  total > 0 && bar(total / most, ""),
];

/** `orders.py:18`, and the code behind it for those who point at it. */
const callSite = (text) => text && h("div.muted.code", { title: text }, text.split(" ")[0]);
