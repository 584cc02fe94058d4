// <hr-plot>: lines over time as SVG. Draws itself to the width it has, and shows the values under the pointer.
//
//   plot({title, series: [{name, points: [[ms, value], ...]}], format})     a point is null-safe: gaps stay gaps

import { h, render, s } from "./dom.js";
import { bytes, moment, NONE, time, trimmed } from "./format.js";

const MARGIN = { left: 64, right: 14, top: 10, bottom: 24 };
const HEIGHT = 190;
const COLORS = 8;
const DECIMAL = { base: 10, steps: [1, 2, 2.5, 5, 10] };
const BINARY = { base: 2, steps: [1, 2] };

export function plot(options) {
  const node = h("hr-plot", { key: options.key ?? options.title });
  node.options = options;
  return node;
}

class PlotElement extends HTMLElement {
  connectedCallback() {
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this);
    this.draw();
  }
  disconnectedCallback() {
    this.watch.disconnect();
  }
  takeOver(fresh) {
    this.options = fresh.options;
    this.draw();
  }
  draw() {
    const { title, series, format, note } = this.options;
    const width = Math.max(240, this.clientWidth);
    const filled = series.filter((one) => one.points.length);
    const body = filled.length
      ? this.chart(filled, width, format)
      : h("p.empty.small", { key: "empty" }, note ?? "No figures yet.");
    render(
      this,
      title ? h("h3.plot-title", { key: "title" }, title) : null,
      body,
      legend(series, format, this.at),
    );
  }
  chart(series, width, format) {
    const scales = scalesOf(series, width, format === bytes ? BINARY : DECIMAL);
    const chart = s(
      "svg",
      {
        key: "chart",
        class: "plot",
        width,
        height: HEIGHT,
        viewBox: `0 0 ${width} ${HEIGHT}`,
        role: "img",
        "aria-label": summary(this.options),
        onpointermove: (event) => this.point(event, scales),
        onpointerleave: () => this.point(null),
      },
      axes(scales, width, format),
      series.map((one) => line(one, scales)),
      this.cursor(series, scales),
    );
    return chart;
  }
  point(event, scales) {
    this.at = event
      ? scales.timeAt(event.clientX - event.currentTarget.getBoundingClientRect().left)
      : undefined;
    this.draw();
  }
  cursor(series, { x, y, bottom }) {
    if (this.at === undefined) return s("g", { key: "cursor" });
    return s(
      "g",
      { key: "cursor" },
      s("line.cursor", { x1: x(this.at), x2: x(this.at), y1: MARGIN.top, y2: bottom }),
      s("text.cursor-time", { x: x(this.at) + 4, y: MARGIN.top + 9 }, time(this.at)),
      series.map((one) => {
        const near = nearest(one.points, this.at);
        return near && s("circle", { cx: x(near[0]), cy: y(near[1]), r: 3.5, class: `dot c${one.color}` });
      }),
    );
  }
}
customElements.define("hr-plot", PlotElement);

function scalesOf(series, width, numbers) {
  series.forEach((one, index) => (one.color = (one.color ?? index) % COLORS));
  const points = series.flatMap((one) => one.points).filter(([, value]) => value !== null);
  const times = points.map(([ms]) => ms);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const span = Math.max(last - first, 1000);
  const values = points.map(([, value]) => value);
  const ticks = niceTicks(Math.min(0, ...values), Math.max(...values), numbers);
  const [low, high] = [ticks[0], ticks.at(-1)];
  const [inner, bottom] = [width - MARGIN.left - MARGIN.right, HEIGHT - MARGIN.bottom];
  return {
    ticks,
    first,
    span,
    bottom,
    inner,
    x: (ms) => MARGIN.left + ((ms - first) / span) * inner,
    y: (value) => bottom - ((value - low) / (high - low)) * (bottom - MARGIN.top),
    timeAt: (px) => Math.min(last, Math.max(first, first + ((px - MARGIN.left) / inner) * span)),
  };
}

/** Round numbers that enclose the values: 0, 20, 40, 60; for bytes round powers of two. */
export function niceTicks(low, high, { base, steps } = DECIMAL) {
  const raw = (high - low || Math.abs(high) || 1) / 4;
  const power = base ** Math.floor(Math.log(raw) / Math.log(base) + 1e-9);
  const step = steps.map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const ticks = [];
  for (let at = Math.floor(low / step); ticks.length < 2 || ticks.at(-1) < high; at += 1)
    ticks.push(at * step);
  return ticks;
}

function axes({ ticks, first, span, x, y, bottom, inner }, width, format) {
  const moments = Math.max(2, Math.min(6, Math.floor(inner / 110)));
  const at = Array.from({ length: moments }, (_, index) => first + (span * index) / (moments - 1));
  return s(
    "g.axes",
    { key: "axes" },
    ticks.map((value) => [
      s("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
      s("text", { x: MARGIN.left - 8, y: y(value) + 4, "text-anchor": "end" }, trimmed(format(value))),
    ]),
    at.map((ms, index) =>
      s(
        "text",
        {
          x: x(ms),
          y: bottom + 17,
          "text-anchor": index === 0 ? "start" : index === moments - 1 ? "end" : "middle",
        },
        time(ms),
      ),
    ),
  );
}

function line({ points, color }, { x, y }) {
  let pen = "M";
  const path = points
    .map(([ms, value]) => {
      if (value === null) return ((pen = "M"), "");
      const piece = `${pen}${x(ms).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
      return piece;
    })
    .join("");
  const only = points.length === 1 && points[0][1] !== null;
  return s(
    "g",
    {},
    s("path", { d: path || "M0 0", class: `line c${color}` }),
    only && s("circle", { cx: x(points[0][0]), cy: y(points[0][1]), r: 3, class: `dot c${color}` }),
  );
}

function nearest(points, ms) {
  const real = points.filter(([, value]) => value !== null);
  return real.reduce(
    (best, one) => (!best || Math.abs(one[0] - ms) < Math.abs(best[0] - ms) ? one : best),
    null,
  );
}

function legend(series, format, at) {
  if (!series.length) return null;
  return h(
    "ul.legend",
    { key: "legend" },
    series.map((one, index) => {
      const shown =
        at === undefined ? one.points.findLast(([, value]) => value !== null) : nearest(one.points, at);
      return h(
        "li",
        { key: one.name, title: one.name },
        h(`span.swatch.c${(one.color ?? index) % COLORS}`, {}),
        h("span.legend-name", {}, one.name),
        h("strong", {}, shown ? format(shown[1]) : NONE),
      );
    }),
  );
}

function summary({ title, series, format }) {
  const parts = series.map(({ name, points }) => {
    const values = points.map(([, value]) => value).filter((value) => value !== null);
    return values.length
      ? `${name}: ${format(values.at(-1))}, from ${format(Math.min(...values))} to ${format(Math.max(...values))}`
      : `${name}: no figures`;
  });
  const first = series.flatMap((one) => one.points.slice(0, 1))[0];
  return `${title ?? "plot"} since ${first ? moment(first[0]) : NONE}; ${parts.join("; ")}`;
}

/** A line of a few pixels, for cards and tables. */
export function sparkline(values, { width = 90, height = 22 } = {}) {
  const real = values.filter((value) => value !== null);
  if (real.length < 2) return s("svg.spark", { width, height, "aria-hidden": "true" });
  const high = Math.max(...real) || 1;
  const step = width / (values.length - 1);
  const path = values
    .map(
      (value, index) =>
        `${index ? "L" : "M"}${(index * step).toFixed(1)} ${(height - 2 - ((value ?? 0) / high) * (height - 4)).toFixed(1)}`,
    )
    .join("");
  return s(
    "svg.spark",
    { width, height, "aria-hidden": "true" },
    s("path.spark-area", { d: `${path}L${width} ${height}L0 ${height}Z` }),
    s("path.spark-line", { d: path }),
  );
}
