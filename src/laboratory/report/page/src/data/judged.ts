// Ratios of times with intervals and verdicts, as lathe has judged them (report/PagePairs.cpp, docs/measuring.md) for every
// pair of points and every statistic that the page offers.
import { offsets, unpack, type Numbers } from "./columns";
import type { Statistic } from "./dataset";
import type { Pairs } from "./schema";
import type { Ratio } from "./statistics";

export interface Judged extends Ratio {
  verdict: "faster" | "slower" | "same" | "ambiguous";
  because: string; // why the verdict is ambiguous; "" for another one
  withinOverhead: boolean; // the cost of calls may explain the difference
}

/** The verdicts in one direction. */
const verdicts: [Judged["verdict"], string][] = [
  ["faster", ""],
  ["slower", ""],
  ["same", ""],
  ["ambiguous", "call overhead"],
  ["ambiguous", "too few starts"],
  ["ambiguous", "disturbed"],
  ["ambiguous", "wide interval"],
];
const tooFewStarts = 4;

/** 2 to the power of a coded distance (`coded` in report/PagePairs.cpp). */
function factor(code: number): number {
  const steps = code & 0x7fff;
  return 2 ** (steps ? (code > steps ? -1 : 1) * 2 ** ((steps - 1) / 1300 - 20) : 0);
}

export class Judgements {
  private readonly firstPair: Uint32Array; // of each point
  private readonly others: Numbers;
  private readonly columns = new Map<Statistic, Record<"verdicts" | "ratios" | "lows" | "highs", Numbers>>();

  constructor(private readonly pairs: Pairs) {
    this.firstPair = offsets(unpack(pairs.partners));
    this.others = unpack(pairs.others);
  }

  /**
   * Time of `top` divided by the time of `bottom`, whose quotient is `times`; undefined for a pair that lathe has not judged.
   */
  of(top: number, bottom: number, statistic: Statistic, times: number): Judged | undefined {
    const turned = top > bottom,
      [first, second] = turned ? [bottom, top] : [top, bottom],
      end = this.firstPair[first + 1];
    let pair = this.firstPair[first];
    while (pair < end && this.others[pair] !== second) ++pair;
    if (pair === end) return undefined;
    let columns = this.columns.get(statistic);
    if (!columns) {
      const { verdicts, ratios, lows, highs } = this.pairs.judged[statistic];
      columns = { verdicts: unpack(verdicts), ratios: unpack(ratios), lows: unpack(lows), highs: unpack(highs) };
      this.columns.set(statistic, columns);
    }
    const both = columns.verdicts[pair] - 1,
      isRange = both < 0,
      [verdict, because] = verdicts[isRange ? tooFewStarts : turned ? both % 7 : Math.floor(both / 7)],
      [above, below, high] = [columns.ratios, columns.lows, columns.highs].map((column) => factor(column[pair])),
      ratio = turned ? times / above : times * above,
      ends = turned ? [ratio / high, ratio * below] : [ratio / below, ratio * high];
    return { ratio, low: ends[0], high: ends[1], isRange, verdict, because, withinOverhead: because === "call overhead" };
  }
}
