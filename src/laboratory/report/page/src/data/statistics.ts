// Ratios of times with intervals and verdicts, by the rules of docs/measuring.md (in C++:
// lab/judging/Statistics.cpp, Verdict.cpp, judgePair in Turns.cpp, and judgeTimes in report/Rows.cpp). The baseline is
// chosen on the page, so the page computes them. They are equal to what `lathe ops analyze` prints, and for points
// measured in turns to what the verb that measured them printed; a test compares them (cli/tests/report_browser_test.py).
// With another statistic than the median (Dataset.statistic) the statistic of each start takes the place of its median.
import { statisticOf, type Dataset, type Statistic } from "./dataset";
import type { Numbers } from "./columns";
import { percentile } from "./percentile";

export interface Ratio {
  ratio: number;
  low: number;
  high: number;
  isRange: boolean; // too few observations: low and high are only their range
}
export type Verdict = "faster" | "slower" | "same" | "ambiguous";
export interface Judged extends Ratio {
  verdict: Verdict;
  because: string; // why the verdict is ambiguous; "" for another one (ambiguityOf in lab/judging/Verdict.cpp)
  withinOverhead: boolean; // the cost of calls may explain the difference
}

const shown = 0.95,
  sure = 0.995,
  band = 0.02,
  beyondApart = band / 2,
  overheadReach = 2;

export function median(values: ArrayLike<number>): number {
  return percentile(Float64Array.from(values).sort(), 50);
}

const logarithms: number[] = [0];
/** ln(n!) */
function logFactorial(n: number): number {
  for (let i = logarithms.length; i <= n; ++i) logarithms.push(logarithms[i - 1] + Math.log(i));
  return logarithms[n];
}

/** P(Z <= z) = tail by bisection; the error function by its series or continued fraction. */
function normalBelow(z: number): number {
  const x = Math.abs(z) / Math.SQRT2;
  let error: number;
  if (x < 3) {
    let term = x,
      sum = x;
    for (let n = 1; n < 80; ++n) sum += (term *= (-x * x) / n) / (2 * n + 1);
    error = 1 - (2 / Math.sqrt(Math.PI)) * sum;
  } else {
    let fraction = 0;
    for (let n = 60; n > 0; --n) fraction = n / 2 / (x + fraction);
    error = Math.exp(-x * x) / ((x + fraction) * Math.sqrt(Math.PI));
  }
  return z < 0 ? error / 2 : 1 - error / 2;
}

const quantiles = new Map<string, number>();
/** The largest w for which P(signed-rank sum of n <= w) is at most `tail`, or -1. */
function signedRankQuantile(n: number, tail: number): number {
  const key = `${n} ${tail}`,
    known = quantiles.get(key);
  if (known !== undefined) return known;
  const most = (n * (n + 1)) / 2;
  let result = most;
  if (n > 60) {
    const mean = most / 2,
      deviation = Math.sqrt((n * (n + 1) * (2 * n + 1)) / 24);
    let low = -40,
      high = 0;
    for (let i = 0; i < 200; ++i) {
      const middle = (low + high) / 2;
      if (normalBelow(middle) > tail) high = middle;
      else low = middle;
    }
    result = Math.floor(mean + low * deviation - 0.5);
  } else {
    const probability = new Float64Array(most + 1);
    probability[0] = 1;
    for (let rank = 1; rank <= n; ++rank)
      for (let sum = most; sum >= 0; --sum)
        probability[sum] = (probability[sum] + (sum >= rank ? probability[sum - rank] : 0)) / 2;
    let below = 0;
    for (let sum = 0; sum <= most; ++sum) {
      below += probability[sum];
      if (below > tail) {
        result = sum - 1;
        break;
      }
    }
  }
  quantiles.set(key, result);
  return result;
}

/** Hodges-Lehmann estimate of the rounds' ratios, with intervals of Wilcoxon's signed-rank test. */
export function rankedRatios(top: Numbers[], bottom: Numbers[], confidences: number[]): Ratio[] {
  const logs = top.map((round, i) => Math.log(median(round) / median(bottom[i])));
  const means = new Float64Array((logs.length * (logs.length + 1)) / 2);
  let next = 0;
  for (let i = 0; i < logs.length; ++i) for (let j = 0; j <= i; ++j) means[next++] = (logs[i] + logs[j]) / 2;
  means.sort();
  return confidences.map((confidence) => {
    const k = signedRankQuantile(logs.length, (1 - confidence) / 2);
    const cut = Math.min(Math.max(0, k), Math.floor((means.length - 1) / 2));
    return {
      ratio: Math.exp(percentile(means, 50)),
      low: Math.exp(means[cut]),
      high: Math.exp(means[means.length - 1 - cut]),
      isRange: k < 0,
    };
  });
}

/** P(T <= t) of Student's distribution. */
function studentBelow(t: number, freedom: number): number {
  const angle = Math.atan2(t, Math.sqrt(freedom)),
    cosine = Math.cos(angle),
    sine = Math.sin(angle),
    odd = freedom % 2;
  let sum = 0,
    term = odd ? cosine : 1;
  for (let power = odd; power <= freedom - 2; power += 2) {
    sum += term;
    term *= (cosine * cosine * (power + 1)) / (power + 2);
  }
  return 0.5 + (odd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum) / 2;
}
const students = new Map<string, number>();
function studentQuantile(confidence: number, freedom: number): number {
  const key = `${confidence} ${freedom}`,
    known = students.get(key);
  if (known !== undefined) return known;
  let low = 0,
    high = 1e4;
  for (let i = 0; i < 200; ++i) {
    const middle = (low + high) / 2;
    if (2 * studentBelow(middle, freedom) - 1 < confidence) low = middle;
    else high = middle;
  }
  students.set(key, high);
  return high;
}

function byStart(rounds: Numbers[], starts: number[]): Numbers[][] {
  if (!starts.length) return [rounds];
  let next = 0;
  return starts.map((count) => rounds.slice(next, (next += count)));
}

/** Fewest process starts of a side that any verdict needs. */
const leastStarts = 3;
const extremes = (values: ArrayLike<number>): [number, number] =>
  Array.from(values).reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);

const pooled = (rounds: Numbers[]) => Float64Array.from(rounds.flatMap((round) => Array.from(round)));
/** The ratio of two sides of rounds in turns: over the rounds for medians, else of the statistic of all samples. */
const ratioInTurns = (top: Numbers[], bottom: Numbers[], statistic: Statistic): number =>
  statistic === "median"
    ? rankedRatios(top, bottom, [shown])[0].ratio
    : statisticOf(pooled(top), statistic) / statisticOf(pooled(bottom), statistic);

function ratiosOverStarts(top: Numbers[][], bottom: Numbers[][], confidences: number[], statistic: Statistic): Ratio[] {
  if (top.length < leastStarts) {
    const tops = top.flat(),
      bottoms = bottom.flat(),
      of = (round: Numbers) => statisticOf(round, statistic),
      [low, high] = extremes(tops.map((round, i) => of(round) / of(bottoms[i]))),
      ratio = ratioInTurns(tops, bottoms, statistic);
    return confidences.map(() => ({ ratio, low, high, isRange: true }));
  }
  const logs = top.map((rounds, i) => Math.log(ratioInTurns(rounds, bottom[i], statistic)));
  const n = logs.length,
    mean = logs.reduce((a, b) => a + b) / n;
  const deviation = Math.sqrt(logs.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
  return confidences.map((confidence) => {
    const half = (studentQuantile(confidence, n - 1) * deviation) / Math.sqrt(n);
    return { ratio: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half), isRange: false };
  });
}

/** Random numbers of 32 bits, equal on every call, and equal to those of lab/judging/Statistics.cpp. */
function randomNumbers(): () => number {
  let state = 2463534242;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>>= 0);
  };
}

const canReject = (m: number, n: number, confidence: number) =>
  2 * Math.exp(logFactorial(m) + logFactorial(n) - logFactorial(m + n)) <= 1 - confidence;

/** Ratio of the medians of two sets, with the interval that holds the ratios of all pairs but those beyond the confidence. */
function ratioOfPairs(top: Float64Array, bottom: Float64Array, confidences: number[]): Ratio[] {
  const ratio = median(top) / median(bottom),
    pairs = Float64Array.from(Array.from(top).flatMap((above) => Array.from(bottom, (below) => above / below))).sort();
  return confidences.map((confidence) => {
    const isRange = !canReject(top.length, bottom.length, confidence),
      outside = isRange ? 0 : Math.floor(((1 - confidence) / 2) * pairs.length);
    return { ratio, low: pairs[outside], high: pairs[pairs.length - 1 - outside], isRange };
  });
}

function verdictOn(speed: Ratio, certain: Ratio, beyond: number): Verdict {
  if (!speed.isRange && speed.low >= 1 - band && speed.high <= 1 + band) return "same";
  if (!certain.isRange && certain.low > 1 + beyond && speed.ratio > 1 + band) return "faster";
  if (!certain.isRange && certain.high < 1 - beyond && speed.ratio < 1 - band) return "slower";
  return "ambiguous";
}

/** Whether two points were measured in turns, and so are compared round by round. */
function inTurns(data: Dataset, a: number, b: number): boolean {
  const experiment = data.column("experiment"),
    starts = data.column("starts");
  return (
    data.experiment(a).in_turns &&
    experiment[a] === experiment[b] &&
    starts[a] === starts[b] &&
    data.rounds(a).length === data.rounds(b).length
  );
}

/** Ratio of two sides that had no turns together: a start is one observation. */
function ratiosApart(top: Numbers[][], bottom: Numbers[][], confidences: number[], statistic: Statistic): Ratio[] {
  const sides = [top, bottom],
    of = (each: (starts: Numbers[][]) => ArrayLike<number>) => sides.map((side) => Float64Array.from(each(side)));
  if (sides.every((side) => side.length >= leastStarts)) {
    const [tops, bottoms] = of((starts) => starts.map((start) => statisticOf(pooled(start), statistic)));
    return ratioOfPairs(tops, bottoms, confidences);
  }
  const byRound = sides.every((side) => side.flat().length >= 2),
    [tops, bottoms] = of((starts) => (byRound ? starts.flat().map((round) => statisticOf(round, statistic)) : pooled(starts.flat()))),
    [topLow, topHigh] = extremes(tops),
    [bottomLow, bottomHigh] = extremes(bottoms),
    range = { ratio: median(tops) / median(bottoms), low: topLow / bottomHigh, high: topHigh / bottomLow };
  return confidences.map(() => ({ ...range, isRange: true }));
}

function ratios(data: Dataset, top: number, bottom: number, confidences: number[]): Ratio[] {
  const [above, below] = [top, bottom].map((point) => byStart(data.rounds(point), data.startsOf(point)));
  return (inTurns(data, top, bottom) ? ratiosOverStarts : ratiosApart)(above, below, confidences, data.statistic);
}

function withinOverhead(data: Dataset, a: number, b: number): boolean {
  let time = data.number(a, "median") - data.number(b, "median");
  let calls = data.number(a, "call_seconds") - data.number(b, "call_seconds"); // NaN: not known
  if (time < 0) [time, calls] = [-time, -calls];
  return time <= overheadReach * calls;
}

/** Time of `top` divided by the time of `bottom`; both have times. */
export function judge(data: Dataset, top: number, bottom: number): Judged {
  const [speed, certain] = ratios(data, top, bottom, [shown, sure]),
    sides = [top, bottom],
    turns = inTurns(data, top, bottom),
    decided = verdictOn(speed, certain, turns ? 0 : beyondApart),
    overhead = (decided === "faster" || decided === "slower") && withinOverhead(data, top, bottom),
    disturbed = sides.some((point) => data.column("disturbed")[point] === 1),
    [above, below] = sides.map((point) => data.startsOf(point).length || 1),
    tooFew = Math.min(above, below) < leastStarts || (!turns && !canReject(above, below, sure));
  // Without turns, what other programs did is in the ratio.
  const verdict = overhead || (disturbed && !turns) ? "ambiguous" : decided;
  const reason = overhead ? "call overhead" : tooFew ? "too few starts" : disturbed ? "disturbed" : "wide interval";
  return { ...speed, verdict, because: verdict === "ambiguous" ? reason : "", withinOverhead: overhead };
}

/** Geometric mean with a percentile-bootstrap interval over the ratios. */
export function geometricMean(values: number[]): Ratio {
  const logs = values.map(Math.log),
    n = logs.length,
    random = randomNumbers();
  const ratio = Math.exp(logs.reduce((a, b) => a + b, 0) / n);
  if (2 * 2 ** -n > 1 - shown) return { ratio, low: Math.min(...values), high: Math.max(...values), isRange: true };
  const resamples = n > 5000 ? 200 : 2000;
  const means = Float64Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let i = 0; i < n; ++i) sum += logs[random() % n];
    return Math.exp(sum / n);
  }).sort();
  return { ratio, low: percentile(means, 2.5), high: percentile(means, 97.5), isRange: false };
}

export interface Density {
  at: number[]; // increasing, from the least shown value to the largest
  height: number[]; // 0 to 1, relative to the highest
  outliers: number; // samples that are not drawn
}

/**
 * Kernel density estimate with Gaussian kernels (Silverman's rule). Values more than 3 interquartile ranges beyond the
 * quartiles are outliers, as for the warnings of docs/measuring.md.
 */
export function density(sorted: Float64Array, steps = 56): Density {
  const quarter = percentile(sorted, 25),
    three = percentile(sorted, 75),
    reach = 3 * (three - quarter);
  const shownValues = sorted.filter((value) => value >= quarter - reach && value <= three + reach),
    n = shownValues.length;
  const low = shownValues[0],
    cut = shownValues[n - 1];
  const mean = shownValues.reduce((a, b) => a + b, 0) / n;
  const deviation = Math.sqrt(shownValues.reduce((sum, v) => sum + (v - mean) ** 2, 0) / Math.max(n - 1, 1));
  const quartiles = (percentile(shownValues, 75) - percentile(shownValues, 25)) / 1.34;
  const width = 0.9 * (Math.min(deviation, quartiles || deviation) || low * 1e-3 || 1e-12) * n ** -0.2;
  // Bins keep the time independent of the number of samples.
  const bins = new Float64Array(256),
    scale = (bins.length - 1) / (cut - low || 1);
  for (const value of shownValues) bins[Math.round((value - low) * scale)] += 1;
  const at: number[] = [],
    height: number[] = [];
  for (let i = 0; i < steps; ++i) {
    const x = low + ((cut - low) * i) / (steps - 1);
    let sum = 0;
    for (let bin = 0; bin < bins.length; ++bin)
      if (bins[bin]) sum += bins[bin] * Math.exp(-0.5 * ((x - low - bin / scale) / width) ** 2);
    at.push(x);
    height.push(sum);
  }
  const highest = Math.max(...height) || 1;
  return { at, height: height.map((value) => value / highest), outliers: sorted.length - n };
}
