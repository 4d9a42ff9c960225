// Whole networks: what bench, compare, sweep, evaluate and quantize measure.
import type { Dataset } from "./dataset";
import { bytes, digits, percent, time } from "./format";

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

/** The first point with a time of each sweep, by experiment: all rows are compared with it, those of other models, too. */
export function firstRows(data: Dataset): Map<string, number> {
  const firsts = new Map<string, number>();
  for (const point of sweepPoints(data, Array.from({ length: data.count }, (_value, index) => index))) {
    const { uuid } = data.experiment(point);
    if (data.counts(point) && !firsts.has(uuid)) firsts.set(uuid, point);
  }
  return firsts;
}

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
const shares = new Set(["top1", "top5", "changed", "agreeing"]);
/** A figure with its unit: "pictures 40", "top1 10.0 %", "package 5.04 MB". */
function figureText(name: string, value: number): string {
  const [, what, unit] = /^(.*)_(bytes|us|ms)$/.exec(name) ?? [];
  if (unit === "bytes") return `${what} ${bytes(value)}`;
  if (unit) return `${what} ${time(value * (unit === "us" ? 1e-6 : 1e-3))}`;
  if (shares.has(name)) return `${name} ${percent(value)}`;
  return `${name} ${Number.isInteger(value) ? value.toLocaleString("en") : digits(value)}`;
}
export const figuresText = (figures: Record<string, number>): string =>
  Object.entries(figures)
    .filter(([name]) => !name.startsWith("confusion "))
    .map(([name, value]) => figureText(name, value))
    .join(", ");
