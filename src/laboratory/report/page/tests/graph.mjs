// node graph.mjs: the layered drawing of graphs, and graphs out of what a store says. Prints a line for each test.
import assert from "node:assert/strict";
import { run } from "./run.mjs";
import { load } from "./load.mjs";

const { layered, isotonic } = await load("data/layers.ts");
const { graphOf } = await load("data/graph.ts");

const sizes = { width: 100, height: 40, across: 10, down: 30 };

function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** What holds for every drawing. */
function check(count, edges, name) {
  const drawn = layered(count, edges, sizes);
  const places = drawn.layer
    .map((layer, node) => ({ layer, x: drawn.x[node] }))
    .sort((a, b) => a.layer - b.layer || a.x - b.x);
  places.forEach(({ layer, x }, at) => {
    assert(x - 50 > -1e-6 && x + 50 < drawn.width + 1e-6, `${name}: a node lies outside`);
    if (at && places[at - 1].layer === layer) assert(x - places[at - 1].x > 110 - 1e-6, `${name}: two nodes overlap`);
  });
  edges.forEach(([from, to], edge) => {
    const path = drawn.paths[edge];
    if (from >= to) return assert.deepEqual(path, [], name);
    assert(drawn.layer[from] < drawn.layer[to], `${name}: ${from} -> ${to} leads up`);
    assert.deepEqual(path[0], [drawn.x[from], drawn.y[from] + 20], name);
    assert.deepEqual(path.at(-1), [drawn.x[to], drawn.y[to] - 20], name);
    assert.equal(path.length, drawn.layer[to] - drawn.layer[from] + 1, name);
    path.slice(1).forEach(([, y], at) => assert(y > path[at][1], `${name}: an edge turns back`));
    // It does not pass through nodes of the layers between.
    path.slice(1, -1).forEach(([x], at) =>
      drawn.layer.forEach((layer, node) => {
        if (layer === drawn.layer[from] + 1 + at)
          assert(Math.abs(x - drawn.x[node]) > 50, `${name}: an edge passes through a node`);
      }),
    );
  });
  return drawn;
}

const tests = {
  "a chain is straight"() {
    const drawn = check(
      5,
      [
        [0, 1],
        [1, 2],
        [2, 3],
        [3, 4],
      ],
      "chain",
    );
    assert.deepEqual(drawn.layer, [0, 1, 2, 3, 4]);
    assert(drawn.x.every((x) => Math.abs(x - drawn.x[0]) < 1e-6));
    assert.deepEqual([drawn.width, drawn.height], [100, 5 * 70 - 30]);
  },
  "edges that need not cross do not"() {
    const drawn = check(
      4,
      [
        [0, 3],
        [1, 2],
      ],
      "crossed",
    );
    assert.equal(drawn.x[0] < drawn.x[1], drawn.x[3] < drawn.x[2]);
  },
  "an input stands just before what reads it"() {
    assert.deepEqual(
      check(
        5,
        [
          [0, 2],
          [2, 3],
          [1, 4],
          [3, 4],
        ],
        "input",
      ).layer,
      [0, 2, 1, 2, 3],
    );
  },
  "empty graphs and edges that lead nowhere"() {
    assert.deepEqual([layered(0, [], sizes).width, layered(0, [], sizes).height], [0, 0]);
    check(
      3,
      [
        [1, 1],
        [2, 0],
      ],
      "backwards",
    );
  },
  "random graphs"() {
    for (let seed = 1; seed <= 60; ++seed) {
      const next = random(seed),
        count = 2 + Math.floor(next() * 40),
        edges = [];
      for (let edge = 0; edge < count * 2; ++edge) edges.push([Math.floor(next() * count), Math.floor(next() * count)]);
      check(count, edges, `seed ${seed}`);
    }
  },
  "a dense block of 200 kernels"() {
    const edges = [];
    for (let to = 1; to < 200; ++to) for (let from = Math.max(0, to - 24); from < to; ++from) edges.push([from, to]);
    assert.equal(check(200, edges, "dense").layer[199], 199);
  },
  "isotonic regression is the nearest one that does not fall"() {
    assert.deepEqual(isotonic([1, 3, 2, 5], [1, 1, 1, 1]), [1, 2.5, 2.5, 5]);
    assert.deepEqual(isotonic([4, 0], [3, 1]), [3, 3]);
    for (let seed = 1; seed <= 40; ++seed) {
      const next = random(seed),
        wanted = Array.from({ length: 6 }, () => next()),
        weights = wanted.map(() => 1 + 3 * next()),
        found = isotonic(wanted, weights);
      const cost = (values) => values.reduce((sum, value, i) => sum + weights[i] * (value - wanted[i]) ** 2, 0);
      found.slice(1).forEach((value, i) => assert(value >= found[i]));
      for (let other = 0; other < 200; ++other) {
        const values = found.map((value) => value + (next() - 0.5) * 0.2).sort((a, b) => a - b);
        assert(cost(values) >= cost(found) - 1e-12, `seed ${seed}`);
      }
    }
  },
  "a graph out of what a store says"() {
    const kernel = (index) => ({
      point: index,
      index,
      name: `k${index}`,
      kind: "kernel",
      family: "f",
      nodes: [],
      seconds: 1,
    });
    const profile = { point: 0, kernels: [0, 1, 2, 3].map(kernel) };
    const of = (graph) => graphOf({ experiment: () => ({ detail: { graph } }) }, profile);
    const value = { name: "v", type: "f32", dims: "1x8x4x4", layout: "NCHW8c", bytes: 512, inside: "w" };
    const found = of({
      values: [value],
      edges: [
        [-1, 0, 0],
        [0, 1, 0],
        [1, 2, -1],
        [2, -1, 0],
      ],
      parents: [[2, 1]],
    });
    assert.deepEqual(
      found.nodes.map((node) => node.kernel?.name ?? (node.input ? "input" : "output")),
      ["input", "k0", "k1", "k2", "output"], // k3 is at no edge
    );
    assert.deepEqual(
      found.edges.map(({ from, to }) => [from, to]),
      [
        [0, 1],
        [1, 2],
        [2, 3],
        [3, 4],
      ],
    );
    assert.deepEqual([found.nodes[1].value, found.edges[2].value, found.nodes[3].parent], [value, null, "k1"]);
    // A dense block: kernel 3 reads the parts that 0, 1 and 2 have made from each other.
    const block = {
      values: [value],
      edges: [
        [0, 1, 0],
        [0, 2, 0],
        [1, 2, 0],
        [0, 3, 0],
        [1, 3, 0],
        [2, 3, 0],
      ],
      parents: [],
    };
    const dense = of(block);
    assert.deepEqual(
      [dense.edges.map(({ from, to }) => [from, to]), dense.implied],
      [
        [
          [0, 1],
          [0, 2],
          [1, 2],
          [2, 3],
        ],
        2,
      ],
    );
    assert.equal(dense.nodes[3].reads, 3);
    // Branches that only meet at their end are all drawn, and so are values of their own.
    const branches = of({
      values: [value],
      edges: [
        [0, 3, 0],
        [1, 3, 0],
        [2, 3, 0],
      ],
      parents: [],
    });
    assert.deepEqual([branches.edges.length, branches.implied], [3, 0]);
    assert.equal(of({ ...block, values: [{ ...value, inside: "" }] }).implied, 0);
    assert.equal(of(undefined), null);
    for (const odd of [null, 3, "x", [], { edges: 4 }, { values: 7, edges: [] }]) assert.equal(of(odd), null);
    const damaged = of({
      values: [null, 3, { name: {} }],
      edges: [[3, 0, 1], ["a", {}, []], [0, 99, 0], [0, 1, 77], 5, [1, 2, 2]],
      parents: [[1, 1], "x"],
    });
    assert.deepEqual(
      damaged.edges.map(({ from, to }) => [from, to]),
      [
        [0, 1],
        [1, 2],
      ],
    );
    assert.equal(damaged.edges[1].value.name, "");
  },
};

process.exitCode = await run(tests);
