// Lines over steps: segments of a network, trials of a search, and extents of a problem.
import { axis, base, colour, dashes, fit, hover, inks, legend, shape, tip, type Look, type Mark, type Plot } from "./plot";
import { digits, tick, time, unitOf } from "../data/format";

export interface CurvePoint {
  x: number;
  value: number; // seconds or GFLOPS; NaN: none
  low: number; // of the whisker
  high: number;
  spread?: string; // what the whisker is
  point: number; // index, -1: none
  label: string;
}
export interface Curve {
  name: string;
  colour: number;
  form: "line" | "steps" | "dots"; // steps: a value holds until the next
  points: CurvePoint[];
}

export interface CurvesAxes {
  x: string;
  y: string;
  labels?: string[]; // of the x positions
  logarithmic: boolean; // y, where the values span enough
  geometric?: boolean; // x is logarithmic
  gflops?: boolean; // what the curves show, else seconds
}

const oneRow = 26; // pixels of a legend of one row

/** The ends of a logarithmic x axis, and its labels: the positions of the points, if they are few. */
function xRange(list: Curve[], { geometric }: CurvesAxes): Record<string, unknown> {
  if (!geometric) return { axisLabel: {} };
  const places = [...new Set(list.flatMap((curve) => curve.points.map((point) => point.x)))].sort((a, b) => a - b),
    [first, last] = [places[0], places[places.length - 1]],
    customValues = places.length <= 16 ? places : undefined;
  return { min: first / 1.15, max: last * 1.15, axisTick: { show: false, customValues }, axisLabel: { customValues, formatter: String } };
}

/** Curves of times or speeds, each with a whisker for its interval. */
export function curves(list: Curve[], axes: CurvesAxes, height: number, look: Look): Plot {
  const ink = inks(look),
    marks: Mark[] = [],
    all = list.flatMap((curve) => curve.points.map((point) => point.high || point.value)).filter(Number.isFinite);
  const largest = Math.max(...all),
    least = Math.min(...list.flatMap((curve) => curve.points.map((point) => point.value)).filter((value) => value > 0)),
    logarithmic = axes.logarithmic && largest > 8 * least, // below that a decade leaves the plot empty
    [factor, unit] = axes.gflops ? [1, "GFLOPS"] : unitOf(largest);
  const series: object[] = [],
    shown = (value: number) => (axes.gflops ? `${digits(value)} GFLOPS` : time(value)),
    spreadOf = ({ spread, low, high }: CurvePoint): [string, string][] =>
      high > low ? [[spread ?? "range", `${shown(low)} to ${shown(high)}`]] : [];
  list.forEach((curve) => {
    const index = series.length,
      fill = colour(curve.colour, look);
    curve.points.forEach((point, item) =>
      marks.push({
        series: index,
        item,
        point: point.point,
        label: () =>
          [`${curve.name}, ${point.label}: ${shown(point.value)}`, ...spreadOf(point).flat()].join(", "),
      }),
    );
    series.push({
      type: "line",
      name: curve.name,
      step: curve.form === "steps" ? "end" : false,
      symbol: shape(curve.colour),
      symbolSize: curve.points.length > 60 ? 4 : 8,
      showAllSymbol: true,
      itemStyle: { color: fill },
      lineStyle: { color: fill, width: curve.form === "dots" ? 0 : 2, type: dashes(curve.colour) },
      connectNulls: false,
      data: curve.points.map((point) => ({
        value: [point.x, Number.isFinite(point.value) ? point.value * factor : null],
        source: point,
      })),
    });
    if (curve.points.some((point) => point.high > point.low))
      series.push({
        type: "custom",
        name: curve.name,
        silent: true,
        itemStyle: { color: fill },
        encode: { x: 0, y: [1, 2] },
        clip: true,
        data: curve.points
          .filter((point) => point.high >= point.low)
          .map((point) => [point.x, point.low * factor, point.high * factor]),
        renderItem: (_params: unknown, api: { value(i: number): number; coord(at: number[]): number[] }) => {
          const [x, low] = api.coord([api.value(0), api.value(1)]),
            high = api.coord([api.value(0), api.value(2)])[1];
          const line = (x1: number, y1: number, x2: number, y2: number) => ({
            type: "line",
            shape: { x1, y1, x2, y2 },
            style: { stroke: fill, lineWidth: 1.2 },
          });
          return {
            type: "group",
            children: [line(x, low, x, high), line(x - 3, low, x + 3, low), line(x - 3, high, x + 3, high)],
          };
        },
      });
  });
  const range = xRange(list, axes);
  const names = legend(
    look,
    list.map((curve) => curve.name),
  );
  const option = {
    ...base(look),
    legend: names.legend,
    grid: { outerBoundsMode: "none", left: 58, right: 18, top: names.bottom + 32, bottom: axes.labels ? 118 : 48 },
    xAxis: axis(look, {
      type: axes.geometric ? "log" : "value",
      ...range,
      name: fit(axes.x, look.width - 76),
      nameGap: axes.labels ? 98 : 26,
      splitLine: { show: false },
      minInterval: 1,
      ...(axes.labels ? { min: -0.4, max: axes.labels.length - 0.6 } : {}),
      axisLabel: axes.labels
        ? {
            rotate: 35,
            width: 140,
            overflow: "truncate",
            customValues: axes.labels.map((_label, index) => index),
            formatter: (value: number) => axes.labels![value] ?? "",
          }
        : range.axisLabel,
    }),
    yAxis: axis(look, {
      type: logarithmic ? "log" : "value",
      scale: axes.logarithmic,
      name: axes.y === unit ? unit : `${axes.y} (${unit})`,
      nameTextStyle: { align: "left", color: ink.muted },
      axisLabel: { formatter: (value: number) => tick(value) },
    }),
    series,
  };
  hover(option, (item: { seriesName: string; data: { source: CurvePoint } }) => {
    const { source } = item.data;
    return tip([
      [item.seriesName],
      ["", source.label],
      [axes.gflops ? "speed" : "time", shown(source.value)],
      ...spreadOf(source),
    ]);
  });
  return { height: height - oneRow + names.bottom, option, marks };
}
