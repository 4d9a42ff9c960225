// Curves of time and GFLOPS over an extent or an attribute that varies in a sweep of problems.
import { curves as plot, type Curve, type CurvesAxes } from "../charts/curves";
import type { Measure } from "../charts/violins";
import { hasLines, linesOf, type Line } from "../data/axes";
import type { Dataset } from "../data/dataset";
import { ChartView } from "../ui/chart";
import { h } from "../ui/dom";
import { Pick } from "../ui/pick";
import type { Section, View } from "../ui/view";
import { measureChoice } from "./violins";

/** Points along a line under one setting, by the name of the curve. */
export interface LineRun {
  line: Line;
  context: string; // kind of experiment and setting
  columns: Map<string, number[]>;
  longest: number; // values of n of the curve with the most
}

const known = new WeakMap<Dataset, Line[]>();
function lines(data: Dataset): Line[] {
  if (!known.has(data)) known.set(data, [...linesOf(data)]);
  return known.get(data)!;
}

/** The list of a key, which is made if there is none. */
function listOf<Key>(lists: Map<Key, number[]>, key: Key): number[] {
  let list = lists.get(key);
  if (!list) lists.set(key, (list = []));
  return list;
}

/** The runs with a curve of three points or more, the longest first. */
export function lineRuns({ data, points }: View): LineRun[] {
  const byProblem = new Map<number, number[]>(),
    problem = data.column("problem");
  for (const point of points) if (data.timed(point)) listOf(byProblem, problem[point]).push(point);
  const runs = lines(data).flatMap((line) => {
    const byContext = new Map<string, LineRun>();
    for (const index of line.values.keys())
      for (const point of byProblem.get(index) ?? []) {
        const context = data.conditionText(point);
        let run = byContext.get(context);
        if (!run) byContext.set(context, (run = { line, context, columns: new Map(), longest: 0 }));
        listOf(run.columns, data.placedText(point)).push(point);
      }
    return [...byContext.values()];
  });
  for (const run of runs)
    for (const [name, list] of run.columns) {
      const length = new Set(list.map((point) => problem[point])).size;
      run.longest = Math.max(run.longest, length);
      if (length < 2) run.columns.delete(name);
    }
  return runs.filter((run) => run.longest >= 3).sort((a, b) => b.longest - a.longest);
}

/** The curves of a run. Of several points of one column and problem the last one counts. */
export function curvesOf(data: Dataset, run: LineRun, measure: Measure, colours: Map<string, number>): Curve[] {
  const problem = data.column("problem");
  return [...run.columns].map(([name, points]) => {
    if (!colours.has(name)) colours.set(name, colours.size);
    const last = new Map(points.map((point) => [problem[point], point]));
    const made = [...last].map(([index, point]) => {
      const x = run.line.values.get(index)!,
        [value, low, high] = [data.time(point), data.number(point, "low"), data.number(point, "high")],
        speed = (seconds: number) => (data.problem(point).flops * 1e-9) / seconds,
        shown = measure === "time" ? { value, low, high } : { value: speed(value), low: speed(high), high: speed(low) };
      return { x, ...shown, spread: data.spreadName(point), point, label: `n = ${x.toLocaleString("en")}` };
    });
    return { name, colour: colours.get(name)!, form: "line", points: made.sort((a, b) => a.x - b.x) };
  });
}

const titleOf = (run: LineRun) => `${run.line.title} — ${run.context}`;
export const axesOf = (run: LineRun, measure: Measure): CurvesAxes => ({
  x: `n in ${titleOf(run)}`,
  y: measure === "time" ? "time" : "GFLOPS",
  logarithmic: run.line.geometric,
  geometric: run.line.geometric,
  gflops: measure === "gflops",
});
/** Whether the operations of the problems are counted. */
export const hasSpeed = (data: Dataset, { line }: LineRun): boolean =>
  [...line.values.keys()].every((index) => data.document.problems[index].flops > 0);

export const curves: Section = {
  id: "curves",
  title: "Curves",
  note: "Problems that differ in one extent or attribute, n, as `lathe ops bench` measures them for a range such as `{1..60}x64:relu`: a curve for each column, with the interval that holds 95 % of six or more starts, with fewer starts their range. An axis is logarithmic where n grows by factors.",
  applies: ({ data }) => hasLines(data),
  mount(host, view) {
    const { data } = view;
    let measure: Measure = "time",
      runs: LineRun[] = [];
    const chart: ChartView = new ChartView(view, "Curves over n", (width) => {
      const run = where.current;
      return run && (measure === "time" || hasSpeed(data, run))
        ? plot(curvesOf(data, run, measure, view.colours), axesOf(run, measure), 420, view.look(width))
        : null;
    });
    const state = h("p", { class: "state" });
    const where: Pick<LineRun> = new Pick("Problems", titleOf, () => {
      const run = where.current;
      state.textContent = !run
        ? "No three problems that are shown differ in one extent only."
        : measure === "gflops" && !hasSpeed(data, run)
          ? "The operations of these problems are not known."
          : "";
      chart.draw();
    });
    const along: Pick<string> = new Pick(
      "Along",
      (axis) => axis,
      () => where.show(runs.filter(({ line }) => line.axis === along.current)),
    );
    const show = measureChoice(measure, (value) => {
      measure = value;
      along.show([...new Set(runs.map(({ line }) => line.axis))]);
    });
    host.append(h("div", { class: "controls" }, show, along.element, where.element), state, chart.element);
    return () => {
      runs = lineRuns(view);
      along.show([...new Set(runs.map(({ line }) => line.axis))]);
    };
  },
};
