// Places the nodes of a plan in columns: pure, no DOM.
//
// In: nodes {id, level?, inputs: [{id}]}.  Out: columns (x), orders (y) and edges with their bends.
// A column belongs to one level, so that an exchange is always a step to the right.

/**
 * @returns {{places: Map<string, {x: number, y: number, column: number}>, edges: object[],
 *            levels: {level: number, from: number, to: number}[], width: number, height: number}}
 */
export function layOut(nodes, { cardWidth, cardHeight, gapX, gapY }) {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const links = nodes.flatMap((node) =>
    (node.inputs ?? [])
      .filter((input) => known.has(input.id))
      .map((input) => ({ from: input.id, to: node.id, input })),
  );
  const { column, levels } = columnsOf(nodes, links);
  const { layers, chains } = withBends(nodes, links, column);
  order(layers);
  const size = cardHeight + gapY;
  spread(layers, size);
  const top = Math.min(...layers.flat().map((cell) => cell.y), 0);
  const place = (cell) => ({ x: cell.column * (cardWidth + gapX), y: cell.y - top, column: cell.column });
  const places = new Map(
    layers
      .flat()
      .filter((cell) => cell.id)
      .map((cell) => [cell.id, place(cell)]),
  );
  const edges = chains.map(({ link, cells }) => ({ ...link, points: cells.map(place) }));
  const bottom = Math.max(
    ...[...places.values(), ...edges.flatMap((edge) => edge.points)].map((at) => at.y),
    0,
  );
  return {
    places,
    edges,
    levels: levels.map(({ level, from, to }) => ({
      level,
      from: from * (cardWidth + gapX),
      to: to * (cardWidth + gapX) + cardWidth,
    })),
    width: layers.length * (cardWidth + gapX) - gapX,
    height: bottom + cardHeight,
  };
}

/** The column of each node: longest way inside its level, after all columns of the levels before. */
function columnsOf(nodes, links) {
  const inputs = Map.groupBy(links, (link) => link.to);
  const level = new Map(nodes.map((node) => [node.id, Number.isInteger(node.level) ? node.level : 0]));
  const depth = new Map();
  const walk = (id, path) => {
    if (depth.has(id)) return depth.get(id);
    if (path.has(id)) return 0; // a feedback edge: drawn, but it places nothing
    path.add(id);
    const before = (inputs.get(id) ?? []).filter((link) => level.get(link.from) === level.get(id));
    const found = Math.max(-1, ...before.map((link) => walk(link.from, path))) + 1;
    path.delete(id);
    depth.set(id, found);
    return found;
  };
  for (const node of nodes) walk(node.id, new Set());
  const levels = [];
  let next = 0;
  for (const value of [...new Set(level.values())].sort((a, b) => a - b)) {
    const deepest = Math.max(
      ...nodes.filter((node) => level.get(node.id) === value).map((node) => depth.get(node.id)),
    );
    levels.push({ level: value, from: next, to: next + deepest });
    next += deepest + 1;
  }
  const start = new Map(levels.map((entry) => [entry.level, entry.from]));
  return { column: new Map(nodes.map((n) => [n.id, start.get(level.get(n.id)) + depth.get(n.id)])), levels };
}

/** Cells by column; an edge that passes a column has a cell there, so that it goes around cards. */
function withBends(nodes, links, column) {
  const layers = Array.from({ length: Math.max(...column.values(), 0) + 1 }, () => []);
  const cell = (id, at) => {
    const made = { id, column: at, before: [], after: [], y: 0 };
    layers[at].push(made);
    return made;
  };
  const cells = new Map(nodes.map((node) => [node.id, cell(node.id, column.get(node.id))]));
  const chains = links.map((link) => {
    const [from, to] = [cells.get(link.from), cells.get(link.to)];
    const chain = [from];
    for (let at = from.column + 1; at < to.column; at += 1) chain.push(cell(null, at));
    chain.push(to);
    chain.slice(1).forEach((next, index) => {
      chain[index].after.push(next);
      next.before.push(chain[index]);
    });
    return { link, cells: chain };
  });
  return { layers, chains };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Sorts each column by the mean place of its neighbours, there and back, which removes most crossings. */
function order(layers) {
  const number = () => layers.forEach((layer) => layer.forEach((cell, index) => (cell.index = index)));
  number();
  for (let sweep = 0; sweep < 8; sweep += 1) {
    const forward = sweep % 2 === 0;
    for (const layer of forward ? layers : [...layers].reverse()) {
      const weight = (cell) => {
        const near = forward ? cell.before : cell.after;
        return near.length ? mean(near.map((other) => other.index)) : cell.index;
      };
      layer
        .map((cell) => [weight(cell), cell.index, cell])
        .sort((a, b) => a[0] - b[0] || a[1] - b[1])
        .forEach(([, , cell], index) => (layer[index] = cell));
      layer.forEach((cell, index) => (cell.index = index));
    }
  }
}

/** Heights: every cell wants the mean of its neighbours, and keeps its distance and order. */
function spread(layers, size) {
  layers.forEach((layer) =>
    layer.forEach((cell, index) => (cell.y = (index - (layer.length - 1) / 2) * size)),
  );
  for (let sweep = 0; sweep < 6; sweep += 1) {
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const wish = layer.map((cell) => {
        const near = sweep % 2 ? cell.after : cell.before;
        return near.length ? mean(near.map((other) => other.y)) : cell.y;
      });
      settle(layer, wish, size);
    }
  }
}

/** Cells that want the same place share it: blocks are merged and centred on the mean of their wishes. */
function settle(layer, wish, size) {
  const blocks = [];
  layer.forEach((cell, index) => {
    blocks.push({ cells: [cell], sum: wish[index] });
    for (;;) {
      const [above, block] = blocks.slice(-2);
      if (blocks.length < 2 || topOf(above) + above.cells.length * size <= topOf(block)) break;
      above.sum += block.sum - block.cells.length * above.cells.length * size;
      above.cells.push(...block.cells);
      blocks.pop();
    }
  });
  for (const block of blocks) block.cells.forEach((cell, index) => (cell.y = topOf(block) + index * size));
}

// `sum` adds up where the block's first cell would be, cell by cell.
const topOf = (block) => block.sum / block.cells.length;
