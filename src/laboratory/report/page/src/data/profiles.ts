// Profiled runs: the kernels of `lathe profile`, with the means over the runs that count.
import type { Dataset } from "./dataset";
import { problemTitle } from "./format";

export interface Kernel {
  point: number;
  index: number;
  name: string;
  kind: string; // "kernel", "reference", ...
  family: string;
  nodes: string[];
  schedule: string;
  flops: number;
  share: number; // of the roofline, NaN: unknown
  predicted: number; // seconds, NaN: none
  seconds: number; // mean over the runs that count
  least: number; // of these runs
  most: number;
}
export interface Profile {
  name: string;
  point: number; // of the whole run
  seconds: number;
  runs: number; // that count
  kernels: Kernel[];
}

/** Indices of the fastest quarter of runs, rounded up (docs/profiling.md). */
function fastestQuarter(whole: ArrayLike<number>): number[] {
  const order = Array.from(whole, (_value, index) => index).sort((a, b) => whole[a] - whole[b] || a - b);
  return order.slice(0, Math.ceil(order.length / 4));
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** The profiles among `points`, in the order of measuring. */
export function profilesOf(data: Dataset, points: number[]): Profile[] {
  const byRun = new Map<string, { whole: number; kernels: number[] }>();
  for (const point of points) {
    const experiment = data.experiment(point),
      { operator } = data.problem(point);
    if (experiment.kind !== "profile") continue;
    const run = byRun.get(experiment.uuid) ?? { whole: -1, kernels: [] };
    byRun.set(experiment.uuid, run);
    if (operator === "kernel") run.kernels.push(point);
    else run.whole = point;
  }
  return [...byRun.values()]
    .filter((run) => run.whole >= 0 && data.timed(run.whole) && run.kernels.length)
    .map((run) => {
      const chosen = fastestQuarter(data.nanoseconds(run.whole)),
        mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
      const times = (point: number) => {
        const all = data.nanoseconds(point);
        return chosen.map((index) => all[index] * 1e-9);
      };
      const kernels = run.kernels
        .filter((point) => data.nanoseconds(point).length)
        .map((point): Kernel => {
          const detail = data.problem(point).detail ?? {},
            seconds = times(point),
            nodes = detail.nodes;
          return {
            point,
            index: Number(detail.index),
            name: text(detail.name),
            kind: text(detail.kind),
            family: text(detail.family),
            nodes: Array.isArray(nodes) ? nodes.map(String) : [],
            schedule: data.setting(point).schedule,
            flops: data.problem(point).flops,
            share: data.number(point, "roofline_share"),
            predicted: (data.figures(point).predicted_us ?? NaN) * 1e-6,
            seconds: mean(seconds),
            least: Math.min(...seconds),
            most: Math.max(...seconds),
          };
        });
      kernels.sort((a, b) => a.index - b.index);
      return {
        name: `${problemTitle(data.problem(run.whole).text)} — ${data.settingText(run.whole)}${data.onPlatform(run.whole)}, ${data.text(run.whole, "measured").slice(0, 16).replace("T", " ")}`,
        point: run.whole,
        seconds: mean(times(run.whole)),
        runs: chosen.length,
        kernels,
      };
    });
}
/** Families of kernels, longest in sum first. */
export function familiesOf(kernels: Kernel[]): string[] {
  const sums = new Map<string, number>();
  for (const kernel of kernels)
    sums.set(kernel.family || kernel.kind, (sums.get(kernel.family || kernel.kind) ?? 0) + kernel.seconds);
  return [...sums].sort((a, b) => b[1] - a[1]).map(([family]) => family);
}
