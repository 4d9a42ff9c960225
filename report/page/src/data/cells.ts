// Cells: points that did the same work under the same conditions, which alone are compared.
import type { Dataset } from "./dataset";
import { problemTitle } from "./format";
import { judge, type Judged } from "./statistics";

export interface Cell {
  problem: string; // short text
  context: string; // kind of experiment, setting, platform
  points: number[];
}

/** Cells of `points`, in the order of their first points. */
export function cellsOf(data: Dataset, points: ArrayLike<number>): Cell[] {
  const keys = data.column("cell"),
    places = new Map<number, Cell>();
  for (let i = 0; i < points.length; ++i) {
    const point = points[i],
      cell = places.get(keys[point]);
    if (cell) cell.points.push(point);
    else
      places.set(keys[point], {
        problem: problemTitle(data.problem(point).text),
        context: data.contextText(point),
        points: [point],
      });
  }
  return [...places.values()];
}

/** Cells over all platforms: equal problem and setting. */
export function cellsAcrossPlatforms(data: Dataset, points: ArrayLike<number>): Cell[] {
  const problem = data.column("problem"),
    setting = data.column("setting"),
    places = new Map<string, Cell>();
  for (let i = 0; i < points.length; ++i) {
    const point = points[i],
      { schedule: _schedule, text } = data.document.settings[setting[point]];
    const key = `${problem[point]} ${text} ${data.experiment(point).kind}`,
      cell = places.get(key);
    if (cell) cell.points.push(point);
    else
      places.set(key, {
        problem: problemTitle(data.problem(point).text),
        context: `${data.experiment(point).kind}, ${text}`,
        points: [point],
      });
  }
  return [...places.values()];
}

/** The fastest point of a cell that counts and that `accepts` takes; -1 if there is none. */
export function fastest(
  data: Dataset,
  points: ArrayLike<number>,
  accepts: (point: number) => boolean = () => true,
): number {
  const median = data.column("median");
  let best = -1;
  for (let i = 0; i < points.length; ++i) {
    const point = points[i];
    if (data.counts(point) && accepts(point) && (best < 0 || median[point] < median[best])) best = point;
  }
  return best;
}

/** A baseline: a provider, or a column of it, or that with a schedule ("onednn:auto", "lathe:auto:default"). */
export function matches(data: Dataset, point: number, baseline: string): boolean {
  const provider = data.text(point, "provider"),
    column = data.columnText(point);
  return (
    baseline === provider ||
    baseline === column ||
    baseline === `${column}:${data.setting(point).schedule || "default"}`
  );
}

export interface Speedup {
  point: number;
  baseline: number;
  cell: Cell;
}

/** Every point that counts beside the fastest point of the baseline in its cell. */
export function speedupsOver(data: Dataset, cells: Cell[], baseline: string): Speedup[] {
  const found: Speedup[] = [];
  for (const cell of cells) {
    const base = fastest(data, cell.points, (point) => matches(data, point, baseline));
    if (base < 0) continue;
    for (const point of cell.points)
      if (point !== base && data.counts(point) && !matches(data, point, baseline))
        found.push({ point, baseline: base, cell });
  }
  return found;
}

const judged = new WeakMap<Dataset, Map<string, Judged>>();
/** judge, remembered: time of `top` divided by the time of `bottom`. */
export function judgeOnce(data: Dataset, top: number, bottom: number): Judged {
  let known = judged.get(data);
  if (!known) judged.set(data, (known = new Map()));
  const key = `${top} ${bottom}`;
  let result = known.get(key);
  if (!result) known.set(key, (result = judge(data, top, bottom)));
  return result;
}
