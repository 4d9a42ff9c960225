// The kernels of a profile as a graph. `lathe profile` stores it in the detail of the experiment
// (jobs/profile/KernelGraph.h has its form); whoever wrote the store may have written anything there.
import type { Dataset } from "./dataset";
import type { Kernel, Profile } from "./profiles";

export interface GraphValue {
  name: string;
  type: string; // "f32"
  dims: string; // "1x64x56x56"
  layout: string; // "NCHW16c"; "": row-major
  bytes: number;
  inside: string; // the value whose memory it lies in; "": its own
}
export interface GraphNode {
  kernel: Kernel | null; // null: an input or an output of the model
  input: boolean;
  value: GraphValue | null; // of inputs and outputs; of a kernel the first one that it writes
  parent: string; // the branch or the loop that it is inside of; "": none
  reads: number; // values, without constants
}
export interface GraphEdge {
  from: number; // index of a node; smaller than `to`
  to: number;
  value: GraphValue | null; // null: `to` is inside of `from`
}
export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[]; // without those that others imply
  implied: number;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const record = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

/** "1×64×56×56 NCHW16c" */
export const shapeText = (value: GraphValue): string =>
  [value.dims.replaceAll("x", "×") || "scalar", value.layout].filter(Boolean).join(" ");

/** The edges that are worth drawing. A kernel may read many parts of one value, each of which was made from the parts before
 *  it, as in a dense block. Then it is enough to see those parts that no other of them was made from. */
function withoutImplied(count: number, edges: GraphEdge[]): GraphEdge[] {
  const groups = new Map<string, number[]>(); // by what reads and by the value that the parts lie in: what writes
  const keyOf = ({ to, value }: GraphEdge) => `${to} ${value?.inside ?? ""}`;
  for (const edge of edges)
    if (edge.value?.inside) groups.set(keyOf(edge), [...(groups.get(keyOf(edge)) ?? []), edge.from]);
  const many = new Set([...groups].filter(([, from]) => from.length > 2).map(([key]) => key));
  if (!many.size || count > 5000) return edges;
  const words = Math.ceil(count / 32),
    before = new Uint32Array(count * words); // by node, a bit for each node that leads to it
  for (const { from, to } of [...edges].sort((a, b) => a.to - b.to)) {
    before[to * words + (from >> 5)] |= 1 << (from & 31);
    for (let word = 0; word < words; ++word) before[to * words + word] |= before[from * words + word];
  }
  const leads = (from: number, to: number) => (before[to * words + (from >> 5)] >>> (from & 31)) & 1;
  return edges.filter(
    (edge) => !many.has(keyOf(edge)) || !groups.get(keyOf(edge))!.some((other) => leads(edge.from, other)),
  );
}

/** The graph of a profile; null where it was stored without one. */
export function graphOf(data: Dataset, profile: Profile): Graph | null {
  const stored = record(data.experiment(profile.point).detail?.graph);
  const values = list(stored.values).map((entry): GraphValue => {
    const value = record(entry);
    return {
      name: text(value.name),
      type: text(value.type),
      dims: text(value.dims),
      layout: text(value.layout),
      bytes: Number(value.bytes) || 0,
      inside: text(value.inside),
    };
  });
  const edges = list(stored.edges).map((edge) => list(edge).map(Number));
  if (!edges.length) return null;
  const byIndex = new Map(profile.kernels.map((kernel) => [kernel.index, kernel]));
  const parents = new Map(list(stored.parents).map((pair) => list(pair).map(Number) as [number, number]));
  const nodes: GraphNode[] = [],
    numbers = new Map<string, number>();
  const port = (value: number, input: boolean) => {
    const key = `${input ? "input" : "output"} ${value}`;
    if (!numbers.has(key)) {
      numbers.set(key, nodes.length);
      nodes.push({ kernel: null, input, value: values[value] ?? null, parent: "", reads: 0 });
    }
  };
  for (const [from, , value] of edges) if (from === -1) port(value, true);
  const used = new Set(edges.flatMap(([from, to]) => [from, to]));
  for (const kernel of profile.kernels) {
    if (!used.has(kernel.index)) continue; // ends the life of a value
    numbers.set(`kernel ${kernel.index}`, nodes.length);
    const written = edges.find(([from, , value]) => from === kernel.index && values[value]);
    const parent = byIndex.get(parents.get(kernel.index) ?? -1);
    nodes.push({
      kernel,
      input: false,
      value: written ? values[written[2]] : null,
      parent: parent ? parent.name || parent.kind : "",
      reads: edges.filter(([, to, value]) => to === kernel.index && values[value]).length,
    });
  }
  for (const [, to, value] of edges) if (to === -1) port(value, false);
  const all = edges.flatMap(([from, to, value]) => {
    const a = numbers.get(from === -1 ? `input ${value}` : `kernel ${from}`),
      b = numbers.get(to === -1 ? `output ${value}` : `kernel ${to}`);
    return a !== undefined && b !== undefined && a < b ? [{ from: a, to: b, value: values[value] ?? null }] : [];
  });
  const drawn = withoutImplied(nodes.length, all);
  return { nodes, edges: drawn, implied: all.length - drawn.length };
}
