// The measurements of a document, by index of the point.
import { offsets, unpack, type Numbers } from "./columns";
import { notVerified, settingTitle, statusText } from "./format";
import { Judgements } from "./judged";
import { percentile } from "./percentile";
import { visible, visibleIn } from "./visible";
import { schemaVersion, type Document, type Experiment, type Platform, type Problem, type Setting } from "./schema";

export type NumberName =
  | "median"
  | "p25"
  | "p75"
  | "min"
  | "low"
  | "high"
  | "relative_l2"
  | "max_difference"
  | "prepare_seconds"
  | "call_seconds"
  | "other_processors"
  | "cpu_seconds"
  | "processors"
  | "cycles"
  | "instructions"
  | "cache_misses"
  | "gigahertz"
  | "roofline_share";
/** What stands for the time of a point. */
export const statistics = ["median", "minimum", "mean", "5th percentile", "quartile", "third quartile", "95th percentile"] as const;
export type Statistic = (typeof statistics)[number];
const percents: Partial<Record<Statistic, number>> = {
  minimum: 0,
  "5th percentile": 5,
  quartile: 25,
  median: 50,
  "third quartile": 75,
  "95th percentile": 95,
};
/** The statistic of values, which are not empty. */
export function statisticOf(values: ArrayLike<number>, statistic: Statistic): number {
  const percent = percents[statistic];
  if (percent === undefined) return Array.from(values).reduce((a, b) => a + b, 0) / values.length;
  return percentile(Float64Array.from(values).sort(), percent);
}

export type TextName =
  | "provider"
  | "variant"
  | "status"
  | "reason"
  | "implementation"
  | "provider_version"
  | "repro"
  | "measured"
  | "bound";
export type IndexName = "experiment" | "problem" | "setting" | "starts" | "cell" | "current" | "is_range" | "disturbed";

interface Samples {
  nanoseconds: Numbers;
  firstRound: Uint32Array; // of each point
  firstSample: Uint32Array; // of each round
}

/** The document with control characters of its names as text. Commands stay what they are: they are copied. */
function readable(document: Document): Document {
  return {
    ...document,
    title: visible(document.title),
    baseline: visible(document.baseline),
    platforms: visibleIn(document.platforms),
    experiments: visibleIn(document.experiments),
    problems: visibleIn(document.problems),
    settings: visibleIn(document.settings),
    texts: document.texts.map(visible),
    tuning: { ...document.tuning, tasks: visibleIn(document.tuning.tasks) },
    estimates: visibleIn(document.estimates),
  };
}

export class Dataset {
  readonly document: Document;
  readonly count: number;
  /** What is compared: "onednn:auto", "benchdnn:jit (not verified here)". Index of each point, and the texts. */
  readonly columnOf: Uint32Array;
  readonly columns: string[] = [];
  /** Columns of points that other programs measured. */
  readonly unverified = new Set<string>();
  private readonly numbers = new Map<string, Numbers>();
  private readonly absent: Float64Array;
  private readonly settingTitles: string[] = []; // by index, as far as they were asked for
  // What is asked for every point of a page is not looked up by name.
  private readonly experimentOf: Numbers;
  private readonly problemOf: Numbers;
  private readonly settingOf: Numbers;
  private timeOf: Numbers; // by `chosen`
  private chosen: Statistic = "median";
  private readonly times = new Map<Statistic, Numbers>();
  private readonly comparable: Uint8Array; // 1: passed or not verified here, with a time
  private readSamples?: Samples;
  private readJudgements?: Judgements;
  private readonly repros: string[]; // texts as they are

  constructor(document: Document) {
    if (document.schema !== schemaVersion)
      throw new Error(`the data has version ${document.schema}, expected ${schemaVersion}`);
    this.repros = document.texts;
    this.document = document = readable(document);
    this.count = document.points.count;
    this.absent = new Float64Array(this.count).fill(NaN);
    this.columnOf = new Uint32Array(this.count);
    const provider = this.column("provider"),
      variant = this.column("variant"),
      status = this.column("status"),
      foreign = document.texts.map((text) => text === notVerified),
      known = new Map<number, number>();
    for (let i = 0; i < this.count; ++i) {
      const key = 2 * (provider[i] * document.texts.length + variant[i]) + (foreign[status[i]] ? 1 : 0);
      let index = known.get(key);
      if (index === undefined) {
        known.set(key, (index = this.columns.length));
        const text = document.texts[variant[i]];
        const mark = foreign[status[i]] ? ` (${statusText(notVerified)})` : "";
        this.columns.push(document.texts[provider[i]] + (text ? `:${text}` : "") + mark);
        if (mark) this.unverified.add(this.columns[index]);
      }
      this.columnOf[i] = index;
    }
    [this.experimentOf, this.problemOf, this.settingOf] = [
      this.column("experiment"),
      this.column("problem"),
      this.column("setting"),
    ];
    this.timeOf = this.column("median");
    this.times.set("median", this.timeOf);
    const passed = document.texts.map((text) => text === "passed" || text === notVerified);
    this.comparable = Uint8Array.from(this.timeOf, (time, point) => (time > 0 && passed[status[point]] ? 1 : 0));
  }

  /** Work that would come with the first point that is opened, as pieces for quiet moments. */
  preparations(): (() => void)[] {
    const names = Object.keys(this.document.points.columns) as NumberName[];
    return [...names.map((name) => () => void this.column(name)), () => void this.samples()];
  }

  /** A whole column; NaN everywhere for one that no point knows. */
  column(name: NumberName | TextName | IndexName): Numbers {
    let values = this.numbers.get(name);
    if (!values) {
      const packed = this.document.points.columns[name];
      this.numbers.set(name, (values = packed ? unpack(packed) : this.absent));
    }
    return values;
  }
  number(point: number, name: NumberName): number {
    return this.column(name)[point];
  }
  text(point: number, name: TextName): string {
    return this.document.texts[this.column(name)[point]] ?? "";
  }
  /** The command that measures the point again, as it is typed. */
  repro(point: number): string {
    return this.repros[this.column("repro")[point]] ?? "";
  }
  problem(point: number): Problem {
    return this.document.problems[this.problemOf[point]];
  }
  setting(point: number): Setting {
    return this.document.settings[this.settingOf[point]];
  }
  experiment(point: number): Experiment {
    return this.document.experiments[this.experimentOf[point]];
  }
  platform(point: number): Platform {
    return this.document.platforms[this.experiment(point).platform];
  }
  /** "onednn:auto" */
  columnText(point: number): string {
    return this.columns[this.columnOf[point]];
  }
  /** "lathe:auto · direct/1 px=4": with the schedule that was asked for. */
  scheduledText(point: number): string {
    const { schedule } = this.setting(point);
    return this.columnText(point) + (schedule ? ` · ${schedule}` : "");
  }
  /** The platform's name where there are points of several platforms, else "". */
  platformText(point: number): string {
    return this.document.platforms.length > 1 ? this.platform(point).name : "";
  }
  /** " on EPYC 9755" where there are points of several platforms, else "". */
  onPlatform(point: number): string {
    const name = this.platformText(point);
    return name && ` on ${name}`;
  }
  /** scheduledText, with the platform where there are several. */
  placedText(point: number): string {
    return this.scheduledText(point) + this.onPlatform(point);
  }
  /** The schedule that was asked for, else the implementation that ran. */
  scheduleText(point: number): string {
    const { schedule } = this.setting(point);
    return schedule && schedule !== "records" ? schedule : this.text(point, "implementation");
  }
  /** The setting as a short text: "2 threads, cold". */
  settingText(point: number): string {
    const index = this.settingOf[point];
    return (this.settingTitles[index] ??= settingTitle(this.document.settings[index].text));
  }
  /** Kind of experiment and setting: "ops, 1 thread". */
  conditionText(point: number): string {
    return [this.experiment(point).kind, this.settingText(point)].filter(Boolean).join(", ");
  }
  /** conditionText, with the platform where there are several. */
  contextText(point: number): string {
    return [this.conditionText(point), this.platformText(point)].filter(Boolean).join(", ");
  }
  /** Timed by a verb that compares nothing, such as `lathe bench`: nobody has verified its outputs. That is no failure. */
  unchecked(point: number): boolean {
    return this.text(point, "status") === "mistrusted" && this.text(point, "reason").startsWith("unverified");
  }
  /** The status as people read it. */
  statusText(point: number): string {
    return this.unchecked(point) ? "not verified" : statusText(this.text(point, "status"));
  }
  /** What `low` and `high` of the point are, as a title. */
  spreadName(point: number): string {
    if (!this.isRange(point)) return "95 % of the starts";
    return this.startsOf(point).length > 1 ? "range of starts" : "range of one start";
  }
  /** Whether the point has too few starts for an interval. */
  isRange(point: number): boolean {
    return this.column("is_range")[point] === 1;
  }
  /** Passed or not verified here, with a time: the only points that are compared. */
  counts(point: number): boolean {
    return this.comparable[point] === 1;
  }
  timed(point: number): boolean {
    return this.timeOf[point] > 0;
  }
  /** What stands for the time of every point: of all samples, in comparisons of the samples of each start. */
  get statistic(): Statistic {
    return this.chosen;
  }
  set statistic(statistic: Statistic) {
    let values = this.times.get(statistic);
    if (!values) {
      const median = this.column("median");
      values = Float64Array.from(median, (time, point) =>
        time > 0 ? statisticOf(this.nanoseconds(point), statistic) * 1e-9 : time,
      );
      this.times.set(statistic, values);
    }
    this.timeOf = values;
    this.chosen = statistic;
  }
  /** Seconds, by the chosen statistic; NaN without samples. */
  time(point: number): number {
    return this.timeOf[point];
  }
  /** 1e9 operations a second at this time; NaN if unknown. */
  gflops(point: number): number {
    const { flops } = this.problem(point);
    return flops > 0 ? (flops * 1e-9) / this.timeOf[point] : NaN;
  }
  gigabytesPerSecond(point: number): number {
    const { bytes } = this.problem(point);
    return bytes > 0 ? (bytes * 1e-9) / this.timeOf[point] : NaN;
  }
  get judgements(): Judgements {
    return (this.readJudgements ??= new Judgements(this.document.points.pairs));
  }
  figures(point: number): Record<string, number> {
    return this.document.points.figures[point] ?? {};
  }

  private samples(): Samples {
    if (!this.readSamples) {
      const { round_counts, round_lengths, samples_ns } = this.document.points;
      this.readSamples = {
        nanoseconds: unpack(samples_ns),
        firstRound: offsets(unpack(round_counts)),
        firstSample: offsets(unpack(round_lengths)),
      };
    }
    return this.readSamples;
  }
  /** All samples in nanoseconds, in order. */
  nanoseconds(point: number): Numbers {
    const { nanoseconds, firstRound, firstSample } = this.samples();
    return nanoseconds.subarray(firstSample[firstRound[point]], firstSample[firstRound[point + 1]]);
  }
  /** Samples in nanoseconds by round. */
  rounds(point: number): Numbers[] {
    const { nanoseconds, firstRound, firstSample } = this.samples(),
      rounds: Numbers[] = [];
    for (let round = firstRound[point]; round < firstRound[point + 1]; ++round)
      rounds.push(nanoseconds.subarray(firstSample[round], firstSample[round + 1]));
    return rounds;
  }
  /** Number of rounds of each start of the process; [] for one start. */
  startsOf(point: number): number[] {
    return this.document.starts[this.column("starts")[point]];
  }
}
