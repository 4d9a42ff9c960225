// Figures of pages of the documentation: plain numbers in, a plot out. bench/ writes their documents.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts/types/dist/shared";
import { axis, base, colour, guide, inks, legend, round125, shape, type Look, type Plot } from "./plot";
import { digits } from "../data/format";

export interface Bars {
  kind: "bars"; // horizontal, with whiskers, a line at 1
  title: string;
  series: string[];
  rows: { label: string; values: ([number, number, number] | null)[] }[]; // value, low, high of each series
}
export interface Sorted {
  kind: "sorted"; // the ratios of each series in ascending order, a line at 1
  title: string;
  across: string;
  series: { name: string; values: number[] }[];
}
export interface Scatter {
  kind: "scatter"; // both axes logarithmic and equal, a line where they are equal
  title: string;
  across: string;
  up: string;
  series: { name: string; points: [number, number][] }[];
}
export type Figure = Bars | Sorted | Scatter;

const title = (text: string, look: Look) => ({
  text,
  left: "center",
  top: 6,
  textStyle: { fontSize: 14, fontWeight: 600, color: inks(look).text },
});

const seriesLegend = (look: Look, series: { name: string }[], left: number) =>
  legend(
    look,
    series.map((item) => item.name),
    { top: 30, left },
  );
const rowOfLegend = 56; // where the plot begins below a legend of one row

function bars(figure: Bars, look: Look): Plot {
  const ink = inks(look),
    thick = 9,
    count = figure.series.length,
    height = figure.rows.length * (count * thick + 8);
  const series = figure.series.map((name, index) => ({
    type: "custom",
    name,
    itemStyle: { color: colour(index, look) },
    encode: { x: [1, 2, 3], y: 0 },
    data: figure.rows.flatMap((row, y) => (row.values[index] ? [[y, ...row.values[index]!]] : [])),
    renderItem: (_params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
      const row = api.value(0) as number,
        [zero, middle] = api.coord([0, row]),
        y = middle + (index - (count - 1) / 2) * thick;
      const at = (value: number) => api.coord([value, row])[0];
      const [x, low, high] = [at(api.value(1) as number), at(api.value(2) as number), at(api.value(3) as number)];
      return {
        type: "group",
        children: [
          {
            type: "rect",
            shape: { x: zero, y: y - thick / 2, width: x - zero, height: thick - 1 },
            style: { fill: colour(index, look) },
          },
          {
            type: "line",
            shape: { x1: low, x2: high, y1: y - 0.5, y2: y - 0.5 },
            style: { stroke: ink.strong, lineWidth: 1 },
          },
        ],
      };
    },
  }));
  const names = legend(look, figure.series, { top: 30, left: 160 });
  const option = {
    ...base(look),
    title: title(figure.title, look),
    legend: names.legend,
    grid: { outerBoundsMode: "none", left: 160, right: 30, top: names.bottom + 4, height },
    xAxis: axis(look, { type: "value", min: 0, axisLabel: { formatter: (value: number) => String(value) } }),
    yAxis: axis(look, {
      type: "category",
      inverse: true,
      data: figure.rows.map((row) => row.label),
      splitLine: { show: false },
      axisLabel: { color: ink.text, interval: 0, hideOverlap: false },
    }),
    series: [...series, guide(look, 1.2, [{ xAxis: 1 }])],
  };
  return { height: height + names.bottom + 40, option, marks: [] };
}

function sorted(figure: Sorted, look: Look): Plot {
  const all = figure.series.flatMap((item) => item.values);
  const low = Math.min(0.8, ...all) * 0.95,
    high = Math.max(1.25, ...all) * 1.05;
  const ticks = [0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 20].filter(
    (tick) => tick >= low && tick <= high,
  );
  const names = seriesLegend(look, figure.series, 60);
  const option = {
    ...base(look),
    title: title(figure.title, look),
    legend: names.legend,
    grid: { outerBoundsMode: "none", left: 60, right: 20, top: names.bottom + 10, bottom: 44 },
    xAxis: axis(look, {
      type: "value",
      min: 0,
      max: 1,
      name: figure.across,
      nameGap: 16,
      axisLabel: { show: false },
      splitLine: { show: false },
    }),
    yAxis: axis(look, {
      type: "value",
      min: Math.log2(low),
      max: Math.log2(high),
      axisTick: { show: false, customValues: ticks.map(Math.log2) },
      axisLabel: {
        customValues: ticks.map(Math.log2),
        formatter: (value: number) => String(Number(digits(2 ** value, 3))),
      },
    }),
    series: [
      ...figure.series.map((item, index) => ({
        type: "scatter",
        name: item.name,
        symbol: shape(index),
        symbolSize: 5,
        itemStyle: { color: colour(index, look) },
        data: [...item.values]
          .sort((a, b) => a - b)
          .map((value, place) => [(place + 0.5) / item.values.length, Math.log2(value)]),
      })),
      guide(look, 1.2, [{ yAxis: 0 }]),
    ],
  };
  return { height: 400 - rowOfLegend + names.bottom, option, marks: [] };
}

function scatter(figure: Scatter, look: Look): Plot {
  const all = figure.series.flatMap((item) => item.points.flat()),
    low = round125(Math.min(...all) / 1.1, false),
    high = round125(Math.max(...all) * 1.1, true);
  const log = (name: string, gap: number) =>
    axis(look, {
      type: "log",
      min: low,
      max: high,
      name,
      nameGap: gap,
      axisLabel: { formatter: (value: number) => digits(value, 2) },
    });
  const names = seriesLegend(look, figure.series, 70);
  const option = {
    ...base(look),
    title: title(figure.title, look),
    legend: names.legend,
    grid: { outerBoundsMode: "none", left: 70, right: 24, top: names.bottom + 10, bottom: 52 },
    xAxis: log(figure.across, 28),
    yAxis: log(figure.up, 46),
    series: [
      ...figure.series.map((item, index) => ({
        type: "scatter",
        name: item.name,
        symbolSize: 5,
        itemStyle: { color: colour(index, look), opacity: 0.55 },
        data: item.points,
      })),
      {
        type: "line",
        silent: true,
        symbol: "none",
        data: [
          [low, low],
          [high, high],
        ],
        lineStyle: { color: inks(look).text, width: 1.4 },
      },
    ],
  };
  return { height: 640 - rowOfLegend + names.bottom, option, marks: [] };
}

export function figurePlot(figure: Figure, look: Look): Plot {
  if (figure.kind === "bars") return bars(figure, look);
  return figure.kind === "sorted" ? sorted(figure, look) : scatter(figure, look);
}
