// Whole networks: what bench, compare, sweep, evaluate and quantize measure.
import type { Dataset } from "./dataset";

const isSweep = (data: Dataset, point: number): boolean =>
  /\bsweep\b/.test(data.experiment(point).command.split(/\s+/).slice(0, 2).join(" "));

/** Points of whole networks, but not the whole runs of profiles, nor sweeps. */
export function networkPoints(data: Dataset, points: number[]): number[] {
  return points.filter(
    (point) =>
      data.problem(point).operator === "model" && data.experiment(point).kind !== "profile" && !isSweep(data, point),
  );
}
export const sweepPoints = (data: Dataset, points: number[]): number[] =>
  points.filter((point) => data.problem(point).operator === "model" && isSweep(data, point));

/** The value of an option of `lathe compile`, as "3" for "-O". */
export function compileOption(data: Dataset, point: number, option: string): string {
  const defaults: Record<string, string> = { "-O": "3", "--layout": "auto", "--target": "native" };
  const words = String(data.setting(point).extra.compile ?? "").split(" "),
    at = words.indexOf(option);
  return at < 0 ? defaults[option] : words[at + 1];
}

export interface Confusion {
  point: number;
  classes: number[]; // that occur, ascending
  names: string[]; // of these classes; numbers where the store has no names
  counts: Map<string, number>; // "label decision"
}
/** The confusion matrix of an evaluation; undefined without one. */
export function confusionOf(data: Dataset, point: number): Confusion | undefined {
  const counts = new Map<string, number>(),
    classes = new Set<number>();
  for (const [name, value] of Object.entries(data.figures(point))) {
    const match = /^confusion (\d+) (\d+)$/.exec(name);
    if (!match) continue;
    counts.set(`${match[1]} ${match[2]}`, value);
    classes.add(Number(match[1])).add(Number(match[2]));
  }
  if (!counts.size) return undefined;
  const ordered = [...classes].sort((a, b) => a - b),
    named = data.problem(point).detail?.classes as Record<string, unknown> | undefined;
  return { point, classes: ordered, names: ordered.map((index) => String(named?.[index] ?? index)), counts };
}
export const figuresText = (figures: Record<string, number>, digits: (value: number) => string): string =>
  Object.entries(figures)
    .filter(([name]) => !name.startsWith("confusion "))
    .map(([name, value]) => `${name} ${digits(value)}`)
    .join(", ");
