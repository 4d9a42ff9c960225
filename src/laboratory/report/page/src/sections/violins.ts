// Distributions of the samples.
import { groupOf, violinParts, violins as plot, type Grouping, type Measure, type ViolinPart } from "../charts/violins";
import { cellsAcrossPlatforms, cellsOf, type Cell } from "../data/cells";
import type { Dataset } from "../data/dataset";
import { ChartView } from "../ui/chart";
import { choice, h, Pager } from "../ui/dom";
import type { Section } from "../ui/view";

/** The control that chooses what a chart shows. */
export const measureChoice = (measure: Measure, change: (value: Measure) => void): HTMLElement =>
  choice(
    "Show",
    [
      ["time", "time"],
      ["gflops", "GFLOPS"],
    ],
    measure,
    (value) => change(value as Measure),
  );

export const groupings: [Grouping, string][] = [
  ["variant", "provider and variant"],
  ["provider", "provider"],
  ["schedule", "schedule"],
  ["platform", "platform"],
];

/** Cells in which something is compared come first: one violin alone says little. */
export function violinCells(data: Dataset, points: number[], by: Grouping): Cell[] {
  const timed = points.filter((point) => data.timed(point) && data.problem(point).operator !== "kernel");
  const cells = by === "platform" ? cellsAcrossPlatforms(data, timed) : cellsOf(data, timed);
  const several = (cell: Cell) =>
    cell.points.length > 1 &&
    cell.points.some((point) => groupOf(data, point, by) !== groupOf(data, cell.points[0], by));
  const compared = cells.filter(several);
  return compared.length ? compared : cells;
}

export const violins: Section = {
  id: "violins",
  title: "Distributions",
  note:
    "Each violin is the density of the samples; its bar has the quartiles, its line is the median. Of one group the fastest point is drawn. " +
    "More than twelve violins of a problem are in several panels; an axis is logarithmic where the values span more than a decade. " +
    "Outliers, more than 3 interquartile ranges beyond a quartile, are counted but not drawn.",
  applies: (view) =>
    view.data.document.experiments.some((experiment) => experiment.kind !== "tune") && view.data.count > 0,
  mount(host, view) {
    let by: Grouping = "variant",
      measure: Measure = "time",
      parts: ViolinPart[] = [];
    const pager = new Pager(12, "panel", () => chart.draw());
    const chart: ChartView = new ChartView(view, "Violin plots", (width) => {
      const shown = pager.slice(parts);
      return shown.length ? plot(view.data, shown, by, measure, view.colours, view.look(width)) : null;
    });
    const update = () => {
      parts = violinParts(view.data, violinCells(view.data, view.points, by), by);
      chart.draw();
    };
    host.append(
      h(
        "div",
        { class: "controls" },
        choice("By", groupings, by, (value) => {
          by = value as Grouping;
          update();
        }),
        measureChoice(measure, (value) => {
          measure = value;
          chart.draw();
        }),
        pager.element,
      ),
      chart.element,
    );
    return update;
  },
};
