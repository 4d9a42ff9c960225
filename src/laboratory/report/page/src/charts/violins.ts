// Violins of samples: a panel for each cell (one problem under one setting), a violin for each group.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts/types/dist/shared";
import { pointTip } from "./points";
import { axis, base, fit, hover, inks, paint, round125, textWidth, type Look, type Mark, type Plot } from "./plot";
import type { Dataset } from "../data/dataset";
import { digits, tick, unitOf } from "../data/format";
import { percentile } from "../data/percentile";
import { density, type Density } from "../data/statistics";
import type { Cell } from "../data/cells";

export type Grouping = "provider" | "variant" | "schedule" | "platform";
export type Measure = "time" | "gflops";

interface Violin {
  name: string;
  point: number;
  colour: number;
  sorted: Float64Array; // in the unit of the panel
  shape: Density;
}
interface Panel {
  title: string;
  context: string;
  unit: string;
  violins: Violin[];
}
/** All violins of a cell, the fastest first. */
interface Whole {
  unit: string;
  violins: Violin[];
}

/** At most so many violins are in one panel: further ones follow in other panels. */
const most = 12;
/** One panel of a cell: the first is number 0. */
export interface ViolinPart {
  cell: Cell;
  part: number;
  parts: number;
}

/** The group of a point; of the points of one group the fastest is drawn. */
export function groupOf(data: Dataset, point: number, by: Grouping): string {
  if (by === "provider") return data.text(point, "provider");
  if (by === "variant") return data.columnText(point);
  if (by === "schedule") return `${data.columnText(point)} · ${data.scheduleText(point) || "default"}`;
  return `${data.platform(point).name} · ${data.columnText(point)}`;
}

function fastestOfGroups(data: Dataset, cell: Cell, by: Grouping): Map<string, number> {
  const groups = new Map<string, number>();
  for (const point of cell.points) {
    if (!data.timed(point)) continue;
    const name = groupOf(data, point, by),
      known = groups.get(name);
    if (known === undefined || data.time(point) < data.time(known)) groups.set(name, point);
  }
  return groups;
}

/** The panels of the cells. */
export function violinParts(data: Dataset, cells: Cell[], by: Grouping): ViolinPart[] {
  return cells.flatMap((cell) => {
    const groups = cell.points.length > most ? fastestOfGroups(data, cell, by).size : 1,
      parts = Math.max(1, Math.ceil(groups / most));
    return Array.from({ length: parts }, (_part, part) => ({ cell, part, parts }));
  });
}

function wholeOf(data: Dataset, cell: Cell, by: Grouping, measure: Measure, colours: Map<string, number>): Whole {
  const groups = fastestOfGroups(data, cell, by),
    { flops } = data.problem(cell.points[0]);
  const gflops = measure === "gflops" && flops > 0;
  const slowest = Math.max(...[...groups.values()].map((point) => data.time(point)));
  const [factor, unit] = gflops ? [0, "GFLOPS"] : unitOf(slowest);
  const violins = [...groups].map(([name, point]): Violin => {
    if (!colours.has(name)) colours.set(name, colours.size);
    const sorted = Float64Array.from(data.nanoseconds(point), (ns) => (gflops ? flops / ns : ns * 1e-9 * factor)).sort();
    return { name, point, colour: colours.get(name)!, sorted, shape: density(sorted) };
  });
  violins.sort((a, b) => data.time(a.point) - data.time(b.point));
  return { unit, violins };
}

/** The part of the violins that a panel shows; the parts are about equal. */
function panelOf({ unit, violins }: Whole, { cell, part, parts }: ViolinPart): Panel {
  const { length } = violins,
    [first, end] = [part, part + 1].map((at) => Math.ceil((at * length) / parts));
  const which = parts > 1 ? `${first + 1} to ${end} of ${length}, the fastest first` : "";
  return {
    title: cell.problem,
    context: [which, cell.context].filter(Boolean).join(" · "),
    unit,
    violins: violins.slice(first, end),
  };
}

/** The axis of times or GFLOPS, as wide as `width` pixels: logarithmic where the violins span more than a decade. */
function valueAxis({ unit, violins }: Panel, look: Look, width: number): Record<string, unknown> {
  const low = Math.min(...violins.map(({ shape }) => shape.at[0])),
    high = Math.max(...violins.map(({ shape }) => shape.at[shape.at.length - 1])),
    formatter = (value: number) => tick(value),
    named = { name: unit, nameGap: 20 };
  if (!(low > 0 && high > 10 * low))
    return axis(look, { type: "value", scale: true, ...named, splitNumber: 3, axisLabel: { formatter } });
  const [min, max] = [round125(low / 1.02, false), round125(high * 1.02, true)],
    marks = [min];
  while (marks[marks.length - 1] < max * 0.999) marks.push(round125(marks[marks.length - 1] * 1.5, true));
  const step = Math.ceil((marks.length * 38) / width), // pixels of a label
    customValues = marks.filter((_mark, index) => index % step === 0);
  return axis(look, {
    type: "log",
    ...named,
    min,
    max,
    axisTick: { show: false, customValues },
    axisLabel: { formatter, customValues },
  });
}

const rowHeight = 28,
  headHeight = 50,
  footHeight = 52,
  gap = 26;

/** Polygon, quartiles and median of one violin. */
function drawing(look: Look, violins: Violin[]) {
  const ink = inks(look);
  return (_params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
    const row = api.value(0) as number,
      { at, height } = violins[row].shape,
      { fill, stroke, lineWidth, lineDash } = paint(violins[row].colour, look);
    const half = ((api.size!([0, 1]) as number[])[1] / 2) * 0.82;
    const place = (value: number) => api.coord([value, row]);
    const middle = place(at[0])[1];
    const upper = at.map((value, i) => [place(value)[0], middle - Math.max(0.7, half * height[i])]);
    const lower = at.map((value, i) => [place(value)[0], middle + Math.max(0.7, half * height[i])]).reverse();
    const across = (percent: number) => place(percentile(violins[row].sorted, percent))[0];
    const line = (x1: number, x2: number, width: number, y = 0) => ({
      type: "line" as const,
      shape: { x1, x2, y1: middle - y, y2: middle + y },
      style: { stroke: ink.strong, lineWidth: width, opacity: 0.9 },
    });
    return {
      type: "group" as const,
      children: [
        {
          type: "polygon" as const,
          shape: { points: [...upper, ...lower] },
          style: { fill, opacity: lineWidth ? 1 : 0.75, stroke, lineWidth: lineWidth || 1, lineDash },
          emphasis: { style: { opacity: 1 } },
        },
        line(across(25), across(75), 3),
        line(across(50), across(50), 2, Math.min(half, 7)),
      ],
    };
  };
}

/** `known`: the colours of columns in all plots. */
export function violins(
  data: Dataset,
  parts: ViolinPart[],
  by: Grouping,
  measure: Measure,
  known: Map<string, number>,
  look: Look,
): Plot {
  const ink = inks(look),
    colours = by === "variant" ? new Map(known) : new Map<string, number>(),
    wholes = new Map<Cell, Whole>();
  for (const { cell } of parts)
    if (!wholes.has(cell)) wholes.set(cell, wholeOf(data, cell, by, measure, colours));
  const panels = parts.map((part) => panelOf(wholes.get(part.cell)!, part)).filter((panel) => panel.violins.length);
  const longest = 14 + Math.max(0, ...panels.flatMap((panel) => panel.violins.map(({ name }) => textWidth(name)))),
    widthOf = (count: number) => (look.width - gap * (count - 1)) / count;
  let across = look.width < 640 ? 1 : look.width < 1150 ? 2 : 3;
  while (across > 1 && longest > 0.42 * widthOf(across)) --across; // names are whole where they can be
  const width = widthOf(across),
    labels = Math.min(longest, 0.45 * width);
  const titles: object[] = [],
    grids: object[] = [],
    xAxes: object[] = [],
    yAxes: object[] = [],
    series: object[] = [];
  const marks: Mark[] = [];
  let top = 6;
  for (let first = 0; first < panels.length; first += across) {
    const row = panels.slice(first, first + across),
      tallest = Math.max(...row.map((panel) => panel.violins.length));
    row.forEach((panel, place) => {
      const index = first + place,
        left = place * (width + gap);
      titles.push({
        text: fit(panel.title, width, 12, 600),
        left,
        top,
        padding: 0,
        itemGap: 6,
        textStyle: { fontSize: 12, fontWeight: 600, color: ink.text },
        subtext: fit(panel.context, width),
        subtextStyle: { fontSize: 11, color: ink.muted },
      });
      grids.push({
        outerBoundsMode: "none",
        left: left + labels,
        top: top + headHeight - 8,
        width: width - labels - 14,
        height: panel.violins.length * rowHeight,
      });
      xAxes.push({ gridIndex: index, ...valueAxis(panel, look, width - labels - 14) });
      yAxes.push(
        axis(look, {
          gridIndex: index,
          type: "category",
          inverse: true,
          data: panel.violins.map((violin) => violin.name),
          splitLine: { show: false },
          axisLabel: {
            color: ink.text,
            interval: 0,
            hideOverlap: false,
            formatter: (name: string) => fit(name, 1.8 * (labels - 12)), // two lines
            width: labels - 10,
            overflow: "breakAll",
            lineHeight: 12,
          },
        }),
      );
      series.push({
        type: "custom",
        xAxisIndex: index,
        yAxisIndex: index,
        clip: true,
        encode: { x: [1, 2], y: 0 },
        renderItem: drawing(look, panel.violins),
        data: panel.violins.map(({ shape, point }, i) => ({
          value: [i, shape.at[0], shape.at[shape.at.length - 1]],
          point,
          outliers: shape.outliers,
        })),
      });
      panel.violins.forEach(({ name, point, sorted }, item) =>
        marks.push({
          series: index,
          item,
          point,
          label: () => `${panel.title}, ${panel.context}, ${name}: median ${digits(percentile(sorted, 50))} ${panel.unit}`,
        }),
      );
    });
    top += headHeight + tallest * rowHeight + footHeight;
  }
  const option = { ...base(look), title: titles, grid: grids, xAxis: xAxes, yAxis: yAxes, series };
  hover(option, (item: { data: { point: number; outliers: number } }) =>
    pointTip(data, item.data.point, [["outliers beyond the violin", String(item.data.outliers)]]),
  );
  return { height: Math.max(top, 80), option, marks };
}
