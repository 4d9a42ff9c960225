// Cells: points that did the same work under the same conditions, which alone are compared.
import type { Dataset } from "./dataset";
import { problemTitle } from "./format";
import type { Judged } from "./judged";

export class Cell {
  readonly points: number[] = [];
  /** `acrossPlatforms`: the cell has points of all platforms. */
  constructor(
    private readonly data: Dataset,
    private readonly acrossPlatforms = false,
  ) {}
  /** The problem as a short text. */
  get problem(): string {
    return problemTitle(this.data.problem(this.points[0]).text);
  }
  /** Kind of experiment, setting, and the platform where there are several. */
  get context(): string {
    const point = this.points[0];
    return this.acrossPlatforms ? this.data.conditionText(point) : this.data.contextText(point);
  }
}

/** Points by key, in the order of the first points. */
function grouped<Key>(points: ArrayLike<number>, key: (point: number) => Key, make: () => Cell): Cell[] {
  const places = new Map<Key, Cell>();
  for (let i = 0; i < points.length; ++i) {
    const name = key(points[i]);
    let cell = places.get(name);
    if (!cell) places.set(name, (cell = make()));
    cell.points.push(points[i]);
  }
  return [...places.values()];
}

/** Cells of `points`, in the order of their first points. */
export function cellsOf(data: Dataset, points: ArrayLike<number>): Cell[] {
  const keys = data.column("cell");
  return grouped(
    points,
    (point) => keys[point],
    () => new Cell(data),
  );
}

/** Cells over all platforms: equal kind of experiment, problem and setting. */
export function cellsAcrossPlatforms(data: Dataset, points: ArrayLike<number>): Cell[] {
  const problem = data.column("problem");
  return grouped(
    points,
    (point) => `${problem[point]} ${data.experiment(point).kind} ${data.setting(point).text}`,
    () => new Cell(data, true),
  );
}

/** The fastest point of a cell that counts and that `accepts` takes; -1 if there is none. */
export function fastest(
  data: Dataset,
  points: ArrayLike<number>,
  accepts: (point: number) => boolean = () => true,
): number {
  let best = -1;
  for (let i = 0; i < points.length; ++i) {
    const point = points[i];
    if (data.counts(point) && accepts(point) && (best < 0 || data.time(point) < data.time(best))) best = point;
  }
  return best;
}

/** What stands between a column and the platform of a baseline: "onednn:auto@EPYC 9755". */
export const atPlatform = "@";
export const platformOf = (baseline: string): string | undefined =>
  baseline.includes(atPlatform) ? baseline.slice(baseline.lastIndexOf(atPlatform) + 1) : undefined;

/**
 * A baseline: a provider, or a column of it, or that with a schedule ("onednn:auto", "lathe:auto:default"), and a platform
 * behind it, by a part of its name or the beginning of its key.
 */
export function matches(data: Dataset, point: number, whole: string): boolean {
  const platform = platformOf(whole),
    baseline = platform === undefined ? whole : whole.slice(0, -platform.length - atPlatform.length);
  if (platform !== undefined) {
    const { name, key } = data.platform(point);
    if (!key.startsWith(platform) && !name.toLowerCase().includes(platform.toLowerCase())) return false;
  }
  const provider = data.text(point, "provider"),
    column = data.columnText(point);
  return (
    baseline === provider ||
    baseline === column ||
    baseline === `${column}:${data.setting(point).schedule || "default"}`
  );
}

/** matches, for many points: asked once for each column, setting and platform. */
function matcher(data: Dataset, baseline: string): (point: number) => boolean {
  const settings = data.document.settings.length,
    setting = data.column("setting"),
    platforms = data.document.platforms.length,
    known = new Uint8Array(data.columns.length * settings * platforms); // 0: not asked, 1: no, 2: yes
  return (point) => {
    const at = (data.columnOf[point] * settings + setting[point]) * platforms + data.experiment(point).platform;
    if (!known[at]) known[at] = matches(data, point, baseline) ? 2 : 1;
    return known[at] === 2;
  };
}

export interface Speedup {
  point: number;
  baseline: number;
  cell: Cell;
}

/** "lathe:auto", "lathe:auto:direct/1 px=4": as the reason of a point that is the same names it. */
function columnWithSchedule(data: Dataset, point: number): string {
  const { schedule } = data.setting(point);
  return data.columnText(point) + (schedule ? `:${schedule}` : "");
}

/** Every point that counts beside the fastest point of the baseline in its cell. */
export function speedupsOver(data: Dataset, cells: Cell[], baseline: string): Speedup[] {
  const found: Speedup[] = [],
    isBaseline = matcher(data, baseline);
  for (const cell of cells) {
    // A point that is the same as another column has no time: that column was timed, and its point stands for both.
    const same = new Set<string>();
    for (const point of cell.points)
      if (data.text(point, "status") === "same_as" && isBaseline(point)) same.add(data.text(point, "reason"));
    const named = (point: number) => same.size > 0 && same.has(columnWithSchedule(data, point)),
      base = fastest(data, cell.points, (point) => isBaseline(point) || named(point));
    if (base < 0) continue;
    for (const point of cell.points)
      if (data.counts(point) && !isBaseline(point) && point !== base)
        found.push({ point, baseline: base, cell });
  }
  return found;
}

/**
 * Time of `top` divided by the time of `bottom`, as lathe has judged it. A search may leave points that it has not compared:
 * of a problem with many schedules it judges the fastest of each column.
 */
export function judgementOf(data: Dataset, top: number, bottom: number): Judged {
  const ratio = data.time(top) / data.time(bottom),
    none = { ratio, low: ratio, high: ratio, isRange: true, verdict: "ambiguous", because: "not judged", withinOverhead: false } as const;
  return data.judgements.of(top, bottom, data.statistic, ratio) ?? none;
}
