// Axes along which problems differ: what a range of `lathe ops bench` varies. Numbers of a problem's text that vary
// together are one axis: the channels of an activation and of its weights.
import type { Dataset } from "./dataset";
import { problemTitle } from "./format";

/** Problems that differ along one axis only. */
export interface Line {
  axis: string; // "relu x[0]", "conv x[1], w[1]"
  title: string; // the text, in which n varies: "relu x=n\u00d764"
  values: Map<number, number>; // n, by index of the problem
  geometric: boolean; // the values grow by factors rather than by steps
}
/** A problem's text: its numbers, and the texts around them. */
interface Parsed {
  problem: number;
  numbers: number[];
  around: string[]; // one more
}

/** Fewest values that make a curve. */
const fewest = 3;
/** "1x64x56x56" in "x=1x64x56x56:const", "1,1" in "strides=1,1", and the shape behind the name of an input of a model. */
const lists = /(?<=[ =])\d+(?:[x,]\d+)*(?=,?(?::\S*)?(?: |$))/g;

function parse(text: string, problem: number): Parsed {
  const numbers: number[] = [],
    around: string[] = [];
  let end = 0;
  for (const { 0: list, index } of text.matchAll(lists)) {
    list.split(/([x,])/).forEach((piece, part) => {
      if (part % 2) around.push(piece);
      else numbers.push(Number(piece));
      if (!part) around.push(text.slice(end, index));
    });
    end = index + list.length;
  }
  around.push(text.slice(end));
  return { problem, numbers, around };
}

/** "x[1]", "axis" */
function nameOf({ around }: Parsed, place: number): string {
  const inside = (piece: string) => piece === "x" || piece === ",";
  let first = place;
  while (inside(around[first])) --first;
  const name = /(\S+?)[= ]*$/.exec(around[first])?.[1] ?? "";
  return name + (first < place || inside(around[place + 1]) ? `[${place - first}]` : "");
}

/** Places of numbers that vary, those that vary together in one list. */
function axesOf(group: Parsed[]): number[][] {
  const axes = new Map<string, number[]>();
  group[0].numbers.forEach((_number, place) => {
    const seen = new Map<number, number>(),
      order = group.map(({ numbers }) => seen.get(numbers[place]) ?? seen.set(numbers[place], seen.size).size - 1);
    if (seen.size === 1) return;
    const key = order.join();
    axes.set(key, [...(axes.get(key) ?? []), place]);
  });
  return [...axes.values()];
}

/** Whether neighbours differ by a factor rather than by a difference. */
function isGeometric(values: number[]): boolean {
  const sorted = values.sort((a, b) => a - b);
  const uneven = (step: (a: number, b: number) => number) => {
    const steps = sorted.slice(1).map((value, index) => step(value, sorted[index]));
    return Math.max(...steps) / Math.min(...steps);
  };
  return sorted[0] > 0 && uneven((a, b) => Math.log(a / b)) < uneven((a, b) => a - b);
}

function lineOf(members: Parsed[], axis: number[]): Line {
  const [parsed] = members,
    { numbers, around } = parsed,
    place = axis[0];
  const equal = (other: number) => members.every((member) => member.numbers[other] === member.numbers[place]);
  const written = numbers.map((number, at) => (!axis.includes(at) ? String(number) : equal(at) ? "n" : "*"));
  const text = around.map((piece, at) => (piece === "x" ? "\u00d7" : piece) + (written[at] ?? "")).join("");
  return {
    axis: `${around[0].split(" ")[0]} ${axis.map((at) => nameOf(parsed, at)).join(", ")}`,
    title: problemTitle(text),
    values: new Map(members.map((member) => [member.problem, member.numbers[place]])),
    geometric: isGeometric(members.map((member) => member.numbers[place])),
  };
}

/** Every line of at least three problems among the first `most`. A problem may be on several lines. */
export function* linesOf(data: Dataset, most = Infinity): Generator<Line> {
  const groups = new Map<string, Parsed[]>();
  data.document.problems.slice(0, most).forEach(({ operator, text }, index) => {
    if (operator === "kernel" || operator === "segment") return;
    const parsed = parse(text, index),
      key = parsed.around.join("#");
    const group = groups.get(key);
    if (group) group.push(parsed);
    else if (parsed.numbers.length) groups.set(key, [parsed]);
  });
  for (const group of groups.values()) {
    if (group.length < fewest) continue;
    const axes = axesOf(group);
    for (const axis of axes) {
      const others = axes.filter((other) => other !== axis).map(([place]) => place),
        lines = new Map<string, Parsed[]>();
      for (const parsed of group) {
        const key = others.map((place) => parsed.numbers[place]).join();
        const line = lines.get(key);
        if (line) line.push(parsed);
        else lines.set(key, [parsed]);
      }
      for (const members of lines.values()) if (members.length >= fewest) yield lineOf(members, axis);
    }
  }
}

/** Whether there is a line. Of many problems the first few mostly have one. */
export const hasLines = (data: Dataset): boolean =>
  [200, Infinity].some((most) => !linesOf(data, most).next().done);
