// Where the jobs of a graph are drawn: each in the layer after those that it comes after (longest
// path), layers side by side or one below the other. In a layer a job is near those before it. A
// long arrow takes a place of its own in each layer that it passes.

const gaps = { across: 14, between: 52 };
const lane = 10; // across a layer that a long arrow passes
const narrowest = 88; // of a box

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The jobs, and those outside the graph that they come after, by name: { name, job, before, after, layer }. */
export function nodesOf(jobs) {
  const nodes = new Map(jobs.map((job) => [job.name, { name: job.name, job, before: [], after: [], layer: 0 }]));
  for (const job of jobs)
    for (const name of job.after) {
      if (!nodes.has(name)) nodes.set(name, { name, job: null, before: [], after: [], layer: 0 });
      nodes.get(name).after.push(nodes.get(job.name));
      nodes.get(job.name).before.push(nodes.get(name));
    }
  setLayers([...nodes.values()]);
  return [...nodes.values()];
}

function setLayers(nodes) {
  const left = new Map(nodes.map((node) => [node, node.before.length]));
  const ready = nodes.filter((node) => node.before.length === 0);
  while (ready.length > 0) {
    const node = ready.pop();
    for (const next of node.after) {
      next.layer = Math.max(next.layer, node.layer + 1);
      left.set(next, left.get(next) - 1);
      if (left.get(next) === 0) ready.push(next);
    }
  }
}

export const layerCount = (nodes) => 1 + Math.max(0, ...nodes.map(({ layer }) => layer));

/** How many pieces of arrows a drawing has. */
export const pieceCount = (nodes) =>
  nodes.reduce((sum, node) => sum + node.before.reduce((steps, { layer }) => steps + node.layer - layer, 0), 0);

// The items of each layer: nodes, and places for long arrows, with the items that they come after.
function layersOf(nodes) {
  const layers = Array.from({ length: layerCount(nodes) }, () => []);
  const items = new Map(nodes.map((node) => [node, { node, before: [], ways: [] }]));
  for (const [node, item] of items) layers[node.layer].push(item);
  for (const [node, item] of items)
    for (const earlier of node.before) {
      const way = [items.get(earlier)];
      for (let layer = earlier.layer + 1; layer < node.layer; ++layer) {
        const passed = { node: null, before: [way.at(-1)] };
        layers[layer].push(passed);
        way.push(passed);
      }
      item.before.push(way.at(-1));
      item.ways.push([...way, item]);
    }
  return layers;
}

// Jobs come by id; sort() keeps this order among equals.
function arrange(layers) {
  for (const layer of layers) {
    for (const item of layer) item.wish = item.before.length > 0 ? mean(item.before.map(({ place }) => place)) : 0;
    layer.sort((one, other) => one.wish - other.wish);
    layer.forEach((item, index) => (item.place = (index + 0.5) / layer.length));
  }
}

const extent = (layer, size) =>
  layer.reduce((sum, { node }) => sum + (node ? size : lane), 0) + gaps.across * (layer.length - 1);

// The width with which the boxes of the fullest layer fit side by side, within bounds.
function fitting(layers, room, width) {
  const own = (layer) => {
    const boxes = layer.filter(({ node }) => node).length;
    const rest = room - gaps.across * (layer.length - 1) - lane * (layer.length - boxes);
    return boxes === 0 ? width : Math.floor(rest / boxes);
  };
  return Math.max(narrowest, Math.min(width, ...layers.map(own)));
}

// Curves from layer to layer.
function pathOf(way, isDown, depth) {
  const point = (along, across) => (isDown ? `${across} ${along}` : `${along} ${across}`);
  const half = gaps.between / 2;
  return way
    .map((item, index) => {
      if (index === 0) return `M${point(item.along + depth, item.across)}`;
      const from = way[index - 1];
      const start = from.along + depth;
      const curve = `C${point(start + half, from.across)} ${point(item.along - half, item.across)} ${point(item.along, item.across)}`;
      return item.node ? curve : `${curve}L${point(item.along + depth, item.across)}`;
    })
    .join("");
}

/**
 * The drawing for a width of room: { isDown, width, height, places, paths }. It goes from left to right,
 * unless it is too wide for that and less wide from top to bottom.
 */
export function layout(nodes, room, width, height) {
  const layers = layersOf(nodes);
  arrange(layers);
  const across = (size) => Math.max(...layers.map((layer) => extent(layer, size)));
  const along = (depth) => layers.length * depth + (layers.length - 1) * gaps.between;
  const isDown = along(width) > room && across(width) < along(width);
  const [size, depth] = isDown ? [fitting(layers, room, width), height] : [height, width];
  const most = across(size);
  layers.forEach((layer, number) => {
    let next = (most - extent(layer, size)) / 2;
    for (const item of layer) {
      const own = item.node ? size : lane;
      item.along = number * (depth + gaps.between);
      item.across = next + own / 2;
      next += own + gaps.across;
    }
  });
  const items = layers.flat().filter(({ node }) => node);
  return {
    isDown,
    width: isDown ? most : along(depth),
    height: isDown ? along(depth) : most,
    places: items.map(({ node, along: at, across: middle }) => {
      const beside = middle - size / 2;
      return isDown ? { node, x: beside, y: at, width: size, height } : { node, x: at, y: beside, width, height };
    }),
    paths: items.flatMap(({ ways }) => ways.map((way) => pathOf(way, isDown, depth))),
  };
}
