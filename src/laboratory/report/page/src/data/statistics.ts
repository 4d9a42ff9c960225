// Figures over points that the reader has chosen: means of ratios that lathe has judged (judged.ts), densities of samples.
import { percentile } from "./percentile";

export interface Ratio {
  ratio: number;
  low: number;
  high: number;
  isRange: boolean; // too few observations: low and high are only their range
}

export function median(values: ArrayLike<number>): number {
  return percentile(Float64Array.from(values).sort(), 50);
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

/** Geometric mean with a percentile-bootstrap interval over the ratios. */
export function geometricMean(values: number[]): Ratio {
  const logs = values.map(Math.log),
    n = logs.length,
    random = randomNumbers();
  const ratio = Math.exp(logs.reduce((a, b) => a + b, 0) / n);
  if (2 * 2 ** -n > 0.05) return { ratio, low: Math.min(...values), high: Math.max(...values), isRange: true };
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
