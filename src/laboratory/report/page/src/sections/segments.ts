// Two runtimes on growing parts of a network.
import { curves, type Curve } from "../charts/curves";
import type { Dataset } from "../data/dataset";
import { problemTitle } from "../data/format";
import { ChartView } from "../ui/chart";
import { Pick } from "../ui/pick";
import type { Section, View } from "../ui/view";

export interface Run {
  name: string;
  cumulative: Curve[]; // from the inputs to a node
  cumulativeLabels: string[];
  blocks: Curve[]; // from one node to the next
  blockLabels: string[];
}

function curvesOf(data: Dataset, points: number[], colours: Map<string, number>): [Curve[], string[]] {
  const places: string[] = [],
    lines = new Map<string, Curve>();
  const label = (point: number) => {
    const { from, to } = (data.problem(point).detail ?? {}) as { from?: string; to?: string };
    return `${from ? `${from} → ` : ""}${to || "outputs"}`;
  };
  for (const point of points) if (!places.includes(label(point))) places.push(label(point));
  for (const point of points) {
    const column = data.columnText(point),
      name = column + data.onPlatform(point),
      curve = lines.get(name) ?? { name, colour: colours.get(column) ?? 0, form: "line" as const, points: [] };
    lines.set(name, curve);
    const [value, low, high] = [data.time(point), data.number(point, "low"), data.number(point, "high")];
    curve.points.push({ x: places.indexOf(label(point)), value, low, high, spread: data.spreadName(point), point, label: label(point) });
  }
  for (const curve of lines.values()) curve.points.sort((a, b) => a.x - b.x);
  return [[...lines.values()], places];
}

export function segmentRuns(data: Dataset, points: number[], colours: Map<string, number>): Run[] {
  const runs = new Map<string, number[]>();
  for (const point of points)
    if (data.problem(point).operator === "segment")
      runs.set(data.experiment(point).uuid, [...(runs.get(data.experiment(point).uuid) ?? []), point]);
  return [...runs.values()].map((list) => {
    const whole = (point: number) => !(data.problem(point).detail as { from?: string } | undefined)?.from;
    const operators = (point: number) =>
      Number((data.problem(point).detail as { operators?: number } | undefined)?.operators ?? 0);
    const growing = list.filter(whole).sort((a, b) => operators(a) - operators(b)),
      rest = list.filter((point) => !whole(point));
    const [cumulative, cumulativeLabels] = curvesOf(data, growing, colours),
      [blocks, blockLabels] = curvesOf(data, rest, colours);
    const problem = problemTitle(data.problem(list[0]).text).replace(/ from .*$/, "");
    return {
      name: `${problem} — ${data.settingText(list[0])}${data.onPlatform(list[0])}, ${data.text(list[0], "measured").slice(0, 16).replace("T", " ")}`,
      cumulative,
      cumulativeLabels,
      blocks,
      blockLabels,
    };
  });
}

export const segments: Section = {
  id: "segments",
  title: "Segments",
  note: "Times of parts of a network with two runtimes: up to a node (growing parts), and between two nodes (blocks). Whiskers hold 95 % of six or more starts, with fewer starts all.",
  applies: (view: View) => view.data.document.problems.some((problem) => problem.operator === "segment"),
  mount(host, view) {
    const pick: Pick<Run> = new Pick(
      "Run",
      (run) => run.name,
      () => {
        growing.draw();
        blocks.draw();
      },
    );
    const chart = (title: string, of: (run: Run) => [Curve[], string[]], x: string) =>
      new ChartView(view, title, (width) => {
        const [lines, labels] = pick.current ? of(pick.current) : [[], []];
        return lines.length ? curves(lines, { x, y: "time", labels, logarithmic: false }, 380, view.look(width)) : null;
      });
    const growing = chart(
      "Growing parts",
      (run) => [run.cumulative, run.cumulativeLabels],
      "part from the inputs up to this node",
    );
    const blocks = chart("Blocks", (run) => [run.blocks, run.blockLabels], "block between two nodes");
    host.append(pick.element, growing.element, blocks.element);
    return () => pick.show(segmentRuns(view.data, view.points, view.colours));
  },
};
