// node plots.mjs DOCUMENT.json FOLDER: every plot of a report as an SVG file, by the code that draws the page.
// node plots.mjs FIGURE.json FILE.svg: a figure of a page of the documentation (charts/figures.ts).
// Prints a line for each file.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { company } from "../charts/company";
import { confusion } from "../charts/confusion";
import { curves } from "../charts/curves";
import { echarts } from "../charts/echarts";
import { figurePlot, type Figure } from "../charts/figures";
import { kernelGraph } from "../charts/graph";
import type { Look, Plot } from "../charts/plot";
import { predictions, sortedKernels, timeline } from "../charts/profile";
import { roofline } from "../charts/roofline";
import { speedups } from "../charts/speedups";
import { violinParts, violins } from "../charts/violins";
import { cellsOf, speedupsOver } from "../data/cells";
import { companyMatrices } from "../data/company";
import { Dataset } from "../data/dataset";
import { problemTitle } from "../data/format";
import { confusionOf } from "../data/networks";
import { familiesOf, profilesOf } from "../data/profiles";
import type { Document } from "../data/schema";
import { tasksOf } from "../data/tuning";
import { axesOf, curvesOf, hasSpeed, lineRuns } from "../sections/curves";
import { graphsOf } from "../sections/graph";
import { machines, pointsOf } from "../sections/roofline";
import { segmentRuns } from "../sections/segments";
import { usualBaseline } from "../sections/speedups";
import { taskCurves } from "../sections/tuning";
import { violinCells } from "../sections/violins";
import { View } from "../ui/view";

/** At most so many files of a kind: a plot that nobody looks at helps nobody. */
const most = 40;
const look: Look = { dark: false, width: 900, still: true };

// Without a canvas nobody can measure text: letters of most fonts are not wider than those of DejaVu Sans, in hundredths of
// the size.
const widths: [string, number][] = [
  ["ijl|'", 28],
  [" .,:;!()[]/\\·-I", 39],
  ["ftr\"", 42],
  ["ckszvxyJ?*_<>", 60],
  ["%mMW@…—", 100],
  ["wOQ×=+→", 84],
  ["ABCDEFGHKLNPRSTUVXYZ&~", 76],
];
const widthOf = new Map(widths.flatMap(([letters, width]) => [...letters].map((letter): [string, number] => [letter, width])));
const widthInEm = (text: string) => [...text].reduce((sum, letter) => sum + (widthOf.get(letter) ?? 64), 0) / 100;
echarts.setPlatformAPI({
  measureText: (text: string, style?: string) => ({
    width:
      widthInEm(text) *
      Number.parseFloat(/[\d.]+(?=px)/.exec(style ?? "")?.[0] ?? "12") *
      (/\b(bold|[6-9]00)\b/.test(style ?? "") ? 1.1 : 1),
  }),
});

export function svgOf(plot: Plot, width: number): string {
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width, height: plot.height });
  chart.setOption(plot.option);
  const text = chart.renderToSVGString();
  chart.dispose();
  return text;
}

function pages<T>(items: T[], size: number): T[][] {
  const list: T[][] = [];
  for (let first = 0; first < items.length; first += size) list.push(items.slice(first, first + size));
  return list;
}

/** The plots by kind. */
function* plotsOf(view: View): Generator<[string, Plot[]]> {
  const { data, colours } = view,
    points = view.points.filter((point) => data.problem(point).operator !== "kernel");
  for (const measure of ["time", "gflops"] as const)
    yield [
      `violins-${measure}`,
      pages(violinParts(data, violinCells(data, points, "variant"), "variant"), 12)
        .slice(0, most)
        .map((parts) => violins(data, parts, "variant", measure, colours, look)),
    ];
  for (const measure of ["time", "gflops"] as const)
    yield [
      `curves-${measure}`,
      lineRuns(view)
        .filter((run) => measure === "time" || hasSpeed(data, run))
        .slice(0, most)
        .map((run) => curves(curvesOf(data, run, measure, colours), axesOf(run, measure), 420, look)),
    ];
  const baseline = usualBaseline(data, points),
    found = speedupsOver(data, cellsOf(data, points), baseline);
  const cells = [...new Set(found.map((item) => item.cell))];
  yield [
    "speedup",
    pages(cells, 24)
      .slice(0, most)
      .map((page) =>
        speedups(
          data,
          found.filter((item) => page.includes(item.cell)),
          baseline,
          colours,
          look,
        ),
      ),
  ];
  yield ["roofline", machines(view).map((machine) => roofline(data, pointsOf(view, machine), colours, look))];
  yield ["company", companyMatrices(data, points, problemTitle).map((matrix) => company(data, matrix, look))];
  const axes = (x: string, labels: string[]) => ({ x, y: "time", labels, logarithmic: false });
  const runs = segmentRuns(data, view.points, colours);
  yield [
    "segments-parts",
    runs
      .filter((run) => run.cumulative.length)
      .map((run) =>
        curves(run.cumulative, axes("part from the inputs up to this node", run.cumulativeLabels), 420, look),
      ),
  ];
  yield [
    "segments-blocks",
    runs
      .filter((run) => run.blocks.length)
      .map((run) => curves(run.blocks, axes("block between two nodes", run.blockLabels), 420, look)),
  ];
  const profiles = profilesOf(data, view.points);
  yield ["profile-timeline", profiles.map((run) => timeline(run.kernels, run.seconds, familiesOf(run.kernels), look))];
  yield [
    "profile-kernels",
    profiles.map((run) => sortedKernels(run.kernels, run.seconds, familiesOf(run.kernels), 30, look)),
  ];
  yield ["profile-graph", graphsOf(view).map(({ run, graph }) => kernelGraph(graph, run.seconds, look))];
  yield [
    "predictions",
    profiles
      .filter((run) => run.kernels.some((kernel) => kernel.predicted > 0))
      .map((run) => predictions(run.kernels, familiesOf(run.kernels), look)),
  ];
  yield [
    "tuning",
    tasksOf(data)
      .filter((task) => task.passed > 1)
      .map((task) => curves(taskCurves(task), { x: "trial", y: "time of one run", logarithmic: true }, 340, look)),
  ];
  yield [
    "confusion",
    view.points.flatMap((point) => confusionOf(data, point) ?? []).map((matrix) => confusion(matrix, look)),
  ];
}

function main(): void {
  const [file, target] = process.argv.slice(2);
  if (!target) throw new Error("usage: node plots.mjs DOCUMENT.json FOLDER | node plots.mjs FIGURE.json FILE.svg");
  const content = JSON.parse(readFileSync(file, "utf8")) as Document | Figure;
  if ("kind" in content) {
    const width = content.kind === "scatter" ? 640 : 820;
    writeFileSync(target, svgOf(figurePlot(content, { ...look, width }), width) + "\n");
    console.log(target);
  } else drawReport(content, target);
}

function drawReport(content: Document, folder: string): void {
  const view = new View(new Dataset(content), () => {});
  for (const [kind, plots] of plotsOf(view))
    plots
      .filter((plot) => plot.marks.length)
      .slice(0, most)
      .forEach((plot, index, all) => {
        const path = join(folder, all.length > 1 ? `${kind}-${String(index + 1).padStart(2, "0")}.svg` : `${kind}.svg`);
        writeFileSync(path, svgOf(plot, look.width));
        console.log(path);
      });
}

try {
  main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
