// A layered drawing of a graph without cycles, top to bottom, after Sugiyama, Tagawa and Toda ("Methods for Visual
// Understanding of Hierarchical System Structures", IEEE SMC 11(2), 1981): layers by the longest path, dummy nodes where
// an edge passes a layer, order within the layers by barycentres. Coordinates are those nearest to the mean of the
// neighbours that keep the order and the distances: isotonic regression of each layer.

export interface Sizes {
  width: number; // of a node
  height: number;
  across: number; // gap between the nodes of a layer
  down: number; // gap between layers
}
export interface Layers {
  width: number;
  height: number;
  layer: number[]; // of each node
  x: number[]; // centre of each node
  y: number[];
  /** Of each edge: from the bottom of a node through the layers between to the top of the other one; [] for an edge
   *  that leads up. */
  paths: [number, number][][];
}

/** Of the order, and of the coordinates; the last ones of these look up and down at once. */
const sweeps = 12,
  settling = 40,
  both = 16;
/** Width of an edge that passes a layer, in pixels. */
const passing = 10;

interface Cell {
  layer: number;
  node: number; // -1: an edge passes
  above: number[]; // cells of the layer before that lead here
  below: number[];
  place: number; // in its layer
  x: number;
}

/** Layer of each node: behind all that lead to it. What nothing leads to stands just before the first that it leads to. */
function layersOf(count: number, edges: [number, number][]): number[] {
  const layer = new Array<number>(count).fill(0),
    first = new Array<number>(count).fill(Infinity),
    roots = new Array<boolean>(count).fill(true);
  for (const [from, to] of [...edges].sort((a, b) => a[0] - b[0])) {
    layer[to] = Math.max(layer[to], layer[from] + 1);
    roots[to] = false;
  }
  for (const [from, to] of edges) first[from] = Math.min(first[from], layer[to]);
  return layer.map((own, node) => (roots[node] && Number.isFinite(first[node]) ? first[node] - 1 : own));
}

/** Number of crossings between neighbouring layers, by inversions. */
function crossings(layers: number[][], cells: Cell[]): number {
  let sum = 0;
  for (const [index, layer] of layers.entries()) {
    const width = (layers[index + 1]?.length ?? 0) + 1,
      tree = new Float64Array(width + 1);
    let seen = 0;
    for (const cell of layer) {
      const places = cells[cell].below.map((other) => cells[other].place + 1);
      for (const place of places) {
        let before = 0;
        for (let at = place; at > 0; at -= at & -at) before += tree[at];
        sum += seen - before;
      }
      for (const place of places) for (let at = place; at <= width; at += at & -at) ++tree[at];
      seen += places.length;
    }
  }
  return sum;
}

function setPlaces(layer: number[], cells: Cell[]): void {
  layer.forEach((cell, place) => (cells[cell].place = place));
}

/** Orders every layer by the mean place of the neighbours, down and up in turns, and keeps the order that crosses least. */
function order(layers: number[][], cells: Cell[]): void {
  for (const layer of layers) setPlaces(layer, cells);
  let best = layers.map((layer) => [...layer]),
    least = crossings(layers, cells);
  for (let sweep = 0; sweep < sweeps && least > 0; ++sweep) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const key = new Map<number, number>();
      for (const cell of layer) {
        const near = down ? cells[cell].above : cells[cell].below;
        key.set(
          cell,
          near.length ? near.reduce((sum, other) => sum + cells[other].place, 0) / near.length : cells[cell].place,
        );
      }
      layer.sort((a, b) => key.get(a)! - key.get(b)! || cells[a].place - cells[b].place);
      setPlaces(layer, cells);
    }
    const found = crossings(layers, cells);
    if (found < least) [least, best] = [found, layers.map((layer) => [...layer])];
  }
  best.forEach((layer, index) => {
    layers[index] = layer;
    setPlaces(layer, cells);
  });
}

/** The values nearest to `wanted` (weighted squares) that do not fall: pool adjacent violators. */
export function isotonic(wanted: number[], weights: number[]): number[] {
  const pools: { sum: number; weight: number; count: number }[] = [];
  wanted.forEach((value, index) => {
    let pool = { sum: value * weights[index], weight: weights[index], count: 1 };
    for (let last = pools.at(-1); last && last.sum / last.weight > pool.sum / pool.weight; last = pools.at(-1)) {
      pools.pop();
      pool = { sum: last.sum + pool.sum, weight: last.weight + pool.weight, count: last.count + pool.count };
    }
    pools.push(pool);
  });
  return pools.flatMap((pool) => new Array<number>(pool.count).fill(pool.sum / pool.weight));
}

/** Moves the cells of a layer as near to `wanted` as their distances allow. */
function settle(layer: number[], cells: Cell[], wanted: number[], sizes: Sizes): void {
  const half = (cell: number) => (cells[cell].node < 0 ? passing : sizes.width) / 2,
    offsets = [0];
  for (let i = 1; i < layer.length; ++i)
    offsets.push(offsets[i - 1] + half(layer[i - 1]) + sizes.across + half(layer[i]));
  // Edges that pass layers are rather straight than nodes between their neighbours.
  const free = isotonic(
    wanted.map((x, i) => x - offsets[i]),
    layer.map((cell) => (cells[cell].node < 0 ? 4 : 1)),
  );
  layer.forEach((cell, i) => (cells[cell].x = free[i] + offsets[i]));
}

function coordinates(layers: number[][], cells: Cell[], sizes: Sizes): void {
  for (const layer of layers)
    settle(
      layer,
      cells,
      layer.map(() => 0),
      sizes,
    );
  for (let sweep = 0; sweep < settling; ++sweep) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const wanted = layer.map((cell) => {
        const { above, below, x } = cells[cell];
        const near = sweep < settling - both ? (down ? above : below) : [...above, ...below];
        return near.length ? near.reduce((sum, other) => sum + cells[other].x, 0) / near.length : x;
      });
      settle(layer, cells, wanted, sizes);
    }
  }
}

/** Draws `count` nodes. `edges` lead from smaller to larger numbers; others are left out. Edges from one node to several
 *  layers share their way. */
export function layered(count: number, edges: [number, number][], sizes: Sizes): Layers {
  const leads = edges.filter(([from, to]) => from < to),
    layer = layersOf(count, leads);
  const cells: Cell[] = layer.map((at, node) => ({ layer: at, node, above: [], below: [], place: 0, x: 0 }));
  const layers: number[][] = Array.from({ length: layer.reduce((most, at) => Math.max(most, at), -1) + 1 }, () => []);
  layer.forEach((at, node) => layers[at].push(node));
  const trunks = new Map<number, number[]>(), // by node: the cells in which its edges pass the next layers
    joined = new Set<string>();
  const join = (from: number, to: number) => {
    if (joined.has(`${from} ${to}`)) return;
    joined.add(`${from} ${to}`);
    cells[from].below.push(to);
    cells[to].above.push(from);
  };
  const ways = edges.map(([from, to]): number[] => {
    if (from >= to) return [];
    const trunk = trunks.get(from) ?? [],
      between = layer[to] - layer[from] - 1;
    trunks.set(from, trunk);
    while (trunk.length < between) {
      const at = layer[from] + trunk.length + 1;
      cells.push({ layer: at, node: -1, above: [], below: [], place: 0, x: 0 });
      layers[at].push(cells.length - 1);
      join(trunk.at(-1) ?? from, cells.length - 1);
      trunk.push(cells.length - 1);
    }
    join(between ? trunk[between - 1] : from, to);
    return trunk.slice(0, between);
  });
  order(layers, cells);
  coordinates(layers, cells, sizes);
  const reach = (cell: Cell) => (cell.node < 0 ? passing : sizes.width) / 2,
    left = cells.reduce((least, cell) => Math.min(least, cell.x - reach(cell)), Infinity);
  for (const cell of cells) cell.x -= left;
  const middle = (at: number) => at * (sizes.height + sizes.down) + sizes.height / 2;
  return {
    width: cells.reduce((most, cell) => Math.max(most, cell.x + reach(cell)), 0),
    height: Math.max(0, layers.length * (sizes.height + sizes.down) - sizes.down),
    layer,
    x: layer.map((_at, node) => cells[node].x),
    y: layer.map(middle),
    paths: edges.map(([from, to], edge) =>
      from >= to
        ? []
        : [
            [cells[from].x, middle(layer[from]) + sizes.height / 2],
            ...ways[edge].map((cell): [number, number] => [cells[cell].x, middle(cells[cell].layer)]),
            [cells[to].x, middle(layer[to]) - sizes.height / 2],
          ],
    ),
  };
}
