// Violins of samples: a panel for each cell (one problem under one setting), a violin for each group.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts/types/dist/shared";
import { pointTip } from "./points";
import { axis, base, fit, hover, inks, paint, type Look, type Mark, type Plot } from "./plot";
import type { Dataset } from "../data/dataset";
import { tick } from "../data/format";
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
}
interface Panel {
  title: string;
  context: string;
  unit: string;
  violins: Violin[];
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

function panelOf(data: Dataset, cell: Cell, by: Grouping, measure: Measure, colours: Map<string, number>): Panel {
  const groups = fastestOfGroups(data, cell, by),
    { flops } = data.problem(cell.points[0]);
  const gflops = measure === "gflops" && flops > 0;
  const slowest = Math.max(...[...groups.values()].map((point) => data.time(point)));
  const [factor, unit] = gflops
    ? [0, "GFLOPS"]
    : slowest >= 1
      ? [1e-9, "s"]
      : slowest >= 1e-3
        ? [1e-6, "ms"]
        : [1e-3, "µs"];
  const violins = [...groups].map(([name, point]) => {
    if (!colours.has(name)) colours.set(name, colours.size);
    const values = Float64Array.from(data.nanoseconds(point), (ns) => (gflops ? flops / ns : ns * (factor as number)));
    return { name, point, colour: colours.get(name)!, sorted: values.sort() };
  });
  violins.sort((a, b) => data.time(a.point) - data.time(b.point));
  return { title: cell.problem, context: cell.context, unit: unit as string, violins };
}

const rowHeight = 28,
  headHeight = 50,
  footHeight = 52,
  gap = 26;

/** Polygon, quartiles and median of one violin. */
function drawing(look: Look, violins: Violin[], shapes: Density[]) {
  const ink = inks(look);
  return (_params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
    const row = api.value(0) as number,
      { at, height } = shapes[row],
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
  cells: Cell[],
  by: Grouping,
  measure: Measure,
  known: Map<string, number>,
  look: Look,
): Plot {
  const ink = inks(look),
    colours = by === "variant" ? new Map(known) : new Map<string, number>();
  const panels = cells.map((cell) => panelOf(data, cell, by, measure, colours)).filter((panel) => panel.violins.length);
  const across = look.width < 640 ? 1 : look.width < 1150 ? 2 : 3,
    width = (look.width - gap * (across - 1)) / across;
  const labels = Math.min(170, width * 0.36);
  const titles: object[] = [],
    grids: object[] = [],
    xAxes: object[] = [],
    yAxes: object[] = [],
    series: object[] = [];
  const marks: Mark[] = [];
  let top = 6;
  for (let first = 0; first < panels.length; first += across) {
    const row = panels.slice(first, first + across),
      most = Math.max(...row.map((panel) => panel.violins.length));
    row.forEach((panel, place) => {
      const index = first + place,
        left = place * (width + gap),
        shapes = panel.violins.map((violin) => density(violin.sorted));
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
      xAxes.push(
        axis(look, {
          gridIndex: index,
          type: "value",
          scale: true,
          name: panel.unit,
          nameLocation: "middle",
          nameGap: 20,
          splitNumber: 3,
          axisLabel: { formatter: (value: number) => tick(value) },
        }),
      );
      yAxes.push(
        axis(look, {
          gridIndex: index,
          type: "category",
          inverse: true,
          data: panel.violins.map((violin) => violin.name),
          splitLine: { show: false },
          axisLabel: { color: ink.text, width: labels - 10, overflow: "truncate", interval: 0 },
        }),
      );
      series.push({
        type: "custom",
        xAxisIndex: index,
        yAxisIndex: index,
        clip: true,
        encode: { x: [1, 2], y: 0 },
        renderItem: drawing(look, panel.violins, shapes),
        data: panel.violins.map((violin, i) => ({
          value: [i, shapes[i].at[0], shapes[i].at[shapes[i].at.length - 1]],
          point: violin.point,
          outliers: shapes[i].outliers,
        })),
      });
      panel.violins.forEach((violin, item) =>
        marks.push({ series: index, item, point: violin.point, label: () => `${panel.title}, ${violin.name}` }),
      );
    });
    top += headHeight + most * rowHeight + footHeight;
  }
  const option = { ...base(look), title: titles, grid: grids, xAxis: xAxes, yAxis: yAxes, series };
  hover(option, (item: { data: { point: number; outliers: number } }) =>
    pointTip(data, item.data.point, [["outliers beyond the violin", String(item.data.outliers)]]),
  );
  return { height: Math.max(top, 80), option, marks };
}
