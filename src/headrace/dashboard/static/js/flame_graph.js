// A flame graph: calls as bars, as wide as they were seen, those they made beneath them.
//
// The answer is a tree {name, value, children}; a bar that would be too narrow to see is left out.

import { h } from "./dom.js";
import { count, percent } from "./format.js";

const NARROWEST = 0.002; // of the whole
const ROW_PX = 20;
const TONES = 8; // of the theme's colours for series

/** root: the tree. at: the names on the way to the call that fills the width. go(names): choose another. */
export function flameGraph(root, at, go) {
  const way = onTheWay(root, at);
  const whole = way.at(-1);
  const bars = [];
  way.slice(0, -1).forEach((node, depth) => bars.push(bar(node, { depth, left: 0, width: 1 })));
  place(whole, { depth: way.length - 1, left: 0, width: 1 }, bars);
  const depth = Math.max(...bars.map((one) => one.depth)) + 1;
  return h(
    "div.flames",
    {
      key: "flames",
      role: "group",
      "aria-label": "Flame graph; every bar is a call, and fills the width when it is chosen",
      style: { height: `${depth * ROW_PX}px` },
    },
    bars.map((one) => drawn(one, root.value, go)),
  );
}

function onTheWay(root, names) {
  const way = [root];
  for (const name of names) {
    const next = way.at(-1).children.find((child) => child.name === name);
    if (!next) break; // it was not seen this time
    way.push(next);
  }
  return way;
}

function place(node, where, bars, names = []) {
  bars.push(bar(node, where, names));
  let left = where.left;
  const order = [...node.children].sort((a, b) => b.value - a.value);
  for (const child of order) {
    const width = (where.width * child.value) / (node.value || 1);
    if (width >= NARROWEST)
      place(child, { depth: where.depth + 1, left, width }, bars, [...names, child.name]);
    left += width;
  }
}

const bar = (node, { depth, left, width }, names) => ({ node, depth, left, width, names });

function drawn({ node, depth, left, width, names }, total, go) {
  const [module, line] = parts(node.name);
  return h(
    `button.flame.c${toneOf(module)}`,
    {
      key: `${depth} ${left.toFixed(4)} ${node.name}`,
      type: "button",
      title: `${node.name}: ${count(node.value)} of ${count(total)} looks, ${percent(node.value / total)}`,
      style: { left: `${left * 100}%`, width: `${width * 100}%`, top: `${depth * ROW_PX}px` },
      onclick: () => go(names === undefined ? depth : names),
    },
    width > 0.03 ? `${module}${line}` : null,
  );
}

/** What a call is: its name, and where it stands. */
function parts(name) {
  const at = name.lastIndexOf(":");
  return at < 0 ? [name, ""] : [name.slice(0, at), name.slice(at)];
}

/** Calls of one module have one colour. */
function toneOf(name) {
  let sum = 0;
  for (const letter of name.split(".")[0]) sum = (sum * 31 + letter.charCodeAt(0)) % 9973;
  return sum % TONES;
}
