// A profiled run: its kernels one after the other, and sorted by time.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts/types/dist/shared";
import { axis, base, colour, hover, inks, legend, shape, tip, type Look, type Mark, type Plot } from "./plot";
import { digits, percent, shorten, time, unitOf } from "../data/format";
import type { Kernel } from "../data/profiles";

/** What the tips of plots say of a kernel. */
export function kernelLines(kernel: Kernel, whole: number): [string, string?][] {
  return [
    [kernel.name],
    ["nodes", shorten(kernel.nodes.join(", "), 90)],
    ["family", kernel.family || kernel.kind],
    ["time", time(kernel.seconds)],
    ["least to largest of the runs", `${time(kernel.least)} to ${time(kernel.most)}`],
    ["share of the run", percent(kernel.seconds / whole)],
    ...(kernel.flops
      ? [["speed", `${digits((kernel.flops * 1e-9) / kernel.seconds)} GFLOPS`] as [string, string]]
      : []),
    ...(kernel.share > 0 ? [["of the roofline", percent(kernel.share)] as [string, string]] : []),
    ["schedule", shorten(kernel.schedule, 90)],
  ];
}
const kernelTip = (kernel: Kernel, whole: number): HTMLElement => tip(kernelLines(kernel, whole));

const markOf = (series: number, item: number, kernel: Kernel): Mark => ({
  series,
  item,
  point: kernel.point,
  label: () => `${kernel.name}: ${time(kernel.seconds)}`,
});

/** Times from 0 on. */
const timeAxis = (look: Look, name: string, more: object = {}) =>
  axis(look, {
    type: "value",
    min: 0,
    name,
    nameGap: 26,
    axisLabel: { formatter: (value: number) => digits(value, 3) },
    ...more,
  });
/** A row for each name. */
const nameAxis = (look: Look, names: string[], width: number, splitLine: object) =>
  axis(look, {
    type: "category",
    inverse: true,
    data: names,
    splitLine,
    axisLabel: { color: inks(look).text, width: width - 10, overflow: "truncate", interval: 0 },
  });

/** Kernels over time, a row for each family. */
export function timeline(kernels: Kernel[], whole: number, families: string[], look: Look): Plot {
  const ink = inks(look),
    marks: Mark[] = [],
    labels = Math.min(150, look.width * 0.3);
  const [factor, unit] = unitOf(whole);
  let begin = 0;
  const items = kernels.map((kernel, index) => {
    const first = begin;
    begin += kernel.seconds;
    marks.push(markOf(0, index, kernel));
    return { value: [first * factor, begin * factor, families.indexOf(kernel.family || kernel.kind)], kernel };
  });
  const option = {
    ...base(look),
    grid: { outerBoundsMode: "none", left: labels, right: 16, top: 8, bottom: 44 },
    xAxis: timeAxis(look, `time (${unit}), without the time between kernels`, { max: begin * factor }),
    yAxis: nameAxis(look, families, labels, { show: true, lineStyle: { color: ink.line } }),
    series: [
      {
        type: "custom",
        data: items,
        encode: { x: [0, 1], y: 2 },
        clip: true,
        renderItem: (_params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
          const row = api.value(2) as number,
            [x1, y] = api.coord([api.value(0), row]),
            x2 = api.coord([api.value(1), row])[0];
          return {
            type: "rect",
            shape: { x: x1, y: y - 10, width: Math.max(0.8, x2 - x1 - 0.6), height: 20 },
            style: { fill: colour(row, look) },
            emphasis: { style: { stroke: ink.strong, lineWidth: 1.5 } },
          };
        },
      },
    ],
  };
  hover(option, (item: { data: { kernel: Kernel } }) => kernelTip(item.data.kernel, whole));
  return { height: families.length * 30 + 60, option, marks };
}

/** The longest kernels, longest first, with the range of their times. */
export function sortedKernels(kernels: Kernel[], whole: number, families: string[], most: number, look: Look): Plot {
  const ink = inks(look),
    marks: Mark[] = [],
    labels = Math.min(330, look.width * 0.46);
  const shown = [...kernels].sort((a, b) => b.seconds - a.seconds).slice(0, most),
    [factor, unit] = unitOf(whole);
  const items = shown.map((kernel, index) => {
    marks.push(markOf(0, index, kernel));
    return {
      value: [kernel.seconds * factor, index],
      kernel,
      itemStyle: { color: colour(families.indexOf(kernel.family || kernel.kind), look) },
    };
  });
  const option = {
    ...base(look),
    grid: { outerBoundsMode: "none", left: labels, right: 24, top: 8, bottom: 44 },
    xAxis: timeAxis(
      look,
      look.width < 640
        ? `time (${unit}); lines: range of the runs`
        : `time (${unit}); lines from the least to the largest of the runs that count`,
    ),
    yAxis: nameAxis(
      look,
      shown.map(
        (kernel) => `${shorten(kernel.name, Math.floor((labels - 66) / 6.6))}  ${percent(kernel.seconds / whole)}`,
      ),
      labels,
      { show: false },
    ),
    series: [
      { type: "bar", data: items, barWidth: 13 },
      {
        type: "custom",
        silent: true,
        data: shown.map((kernel, index) => [kernel.least * factor, kernel.most * factor, index]),
        encode: { x: [0, 1], y: 2 },
        clip: true,
        renderItem: (_params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
          const [x1, y] = api.coord([api.value(0), api.value(2)]),
            x2 = api.coord([api.value(1), api.value(2)])[0];
          return { type: "line", shape: { x1, x2, y1: y, y2: y }, style: { stroke: ink.strong, lineWidth: 1.2 } };
        },
      },
    ],
  };
  hover(option, (item: { data: { kernel?: Kernel } }) => kernelTip(item.data.kernel ?? shown[0], whole));
  return { height: shown.length * 22 + 60, option, marks };
}

/** Predicted over measured time, both logarithmic, with the line where they are equal. */
export function predictions(kernels: Kernel[], families: string[], look: Look): Plot {
  const ink = inks(look),
    known = kernels.filter((kernel) => kernel.predicted > 0 && kernel.seconds > 0),
    marks: Mark[] = [];
  const values = known.flatMap((kernel) => [kernel.predicted, kernel.seconds]),
    low = Math.min(...values) / 1.5,
    high = Math.max(...values) * 1.5;
  const used = families.filter((family) => known.some((kernel) => (kernel.family || kernel.kind) === family));
  const series: object[] = used.map((family, index) => {
    const list = known.filter((kernel) => (kernel.family || kernel.kind) === family);
    list.forEach((kernel, item) =>
      marks.push({
        series: index,
        item,
        point: kernel.point,
        label: () => `${kernel.name}: predicted ${time(kernel.predicted)}, measured ${time(kernel.seconds)}`,
      }),
    );
    return {
      type: "scatter",
      name: family,
      symbol: shape(families.indexOf(family)),
      symbolSize: 9,
      itemStyle: { color: colour(families.indexOf(family), look), opacity: 0.85 },
      data: list.map((kernel) => ({ value: [kernel.seconds * 1e6, kernel.predicted * 1e6], kernel })),
    };
  });
  series.push({
    type: "line",
    silent: true,
    symbol: "none",
    data: [
      [low * 1e6, low * 1e6],
      [high * 1e6, high * 1e6],
    ],
    lineStyle: { color: ink.muted, type: "dashed", width: 1.4 },
  });
  const log = (name: string, more: object) =>
    axis(look, {
      type: "log",
      min: low * 1e6,
      max: high * 1e6,
      name,
      axisLabel: { formatter: (value: number) => digits(value, 2) },
      ...more,
    });
  const names = legend(look, used);
  const option = {
    ...base(look),
    legend: names.legend,
    grid: { outerBoundsMode: "none", left: 62, right: 18, top: names.bottom + 28, bottom: 48 },
    xAxis: log("measured (µs)", { nameGap: 28 }),
    yAxis: log("predicted (µs)", {}),
    series,
  };
  hover(option, (item: { data: { kernel: Kernel } }) =>
    tip([
      [item.data.kernel.name],
      ["measured", time(item.data.kernel.seconds)],
      ["predicted", time(item.data.kernel.predicted)],
      ["predicted / measured", percent(item.data.kernel.predicted / item.data.kernel.seconds)],
    ]),
  );
  return { height: Math.min(534, Math.max(314, look.width * 0.6)) + names.bottom, option, marks };
}
