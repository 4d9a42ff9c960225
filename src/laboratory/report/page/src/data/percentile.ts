/** Percentile of sorted values, interpolated linearly. */
export function percentile(sorted: ArrayLike<number>, percent: number): number {
  if (!sorted.length) return NaN;
  const position = (percent / 100) * (sorted.length - 1),
    below = Math.floor(position);
  if (below + 1 >= sorted.length) return sorted[sorted.length - 1];
  return sorted[below] + (position - below) * (sorted[below + 1] - sorted[below]);
}
