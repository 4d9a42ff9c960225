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

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const valueOf = new Map(Array.from(letters, (letter, value) => [letter, value]));
/** Length of a judgement; a pair that the statistic does not need is "." */
const size = 11;
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

export class Judgements {
  private readonly firstPair: Uint32Array; // of each point
  private readonly distances: Numbers;
  private readonly places = new Map<Statistic, Uint32Array>(); // of each pair in the text

  constructor(private readonly pairs: Pairs) {
    this.firstPair = offsets(unpack(pairs.partners));
    this.distances = unpack(pairs.distances);
  }

  /** Where the judgement of the pair stands, -1 for none. */
  private place(first: number, second: number, statistic: Statistic): number {
    const text = this.pairs.judged[statistic];
    let places = this.places.get(statistic);
    if (!places) {
      places = new Uint32Array(this.distances.length);
      for (let pair = 0, at = 0; pair < places.length; at += text[at] === "." ? 1 : size) places[pair++] = at;
      this.places.set(statistic, places);
    }
    for (let pair = this.firstPair[first]; pair < this.firstPair[first + 1]; ++pair)
      if (first + this.distances[pair] === second) return text[places[pair]] === "." ? -1 : places[pair];
    return -1;
  }

  /** Time of `top` divided by the time of `bottom`; undefined for a pair that lathe has not judged. */
  of(top: number, bottom: number, statistic: Statistic): Judged | undefined {
    const turned = top > bottom,
      place = turned ? this.place(bottom, top, statistic) : this.place(top, bottom, statistic);
    if (place < 0) return undefined;
    const text = this.pairs.judged[statistic],
      number = (at: number, count: number) =>
        Array.from(text.substr(place + at, count)).reduce((value, letter) => value * 64 + valueOf.get(letter)!, 0),
      distance = (at: number) => {
        const root = (number(at, 3) - 0x20000) / 0x1ffff;
        return 32 * root * Math.abs(root);
      },
      logarithm = number(1, 4) / 0x40000 - 32,
      [below, above] = [distance(5), distance(8)],
      both = number(0, 1) - 1,
      isRange = both < 0,
      which = isRange ? tooFewStarts : turned ? both % 7 : Math.floor(both / 7),
      [verdict, because] = verdicts[which],
      ends = [2 ** (logarithm - below), 2 ** (logarithm + above)],
      [low, high] = turned ? [1 / ends[1], 1 / ends[0]] : ends;
    return { ratio: 2 ** (turned ? -logarithm : logarithm), low, high, isRange, verdict, because, withinOverhead: because === "call overhead" };
  }
}
