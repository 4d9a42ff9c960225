// Bars of speedups over a baseline: a row for each cell, a bar for each column, a whisker for the interval.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts/types/dist/shared";
import { pointTip } from "./points";
import { axis, base, fit, guide, hover, inks, legend, paint, textWidth, type Look, type Mark, type Paint, type Plot } from "./plot";
import { judgementOf, platformOf, type Speedup } from "../data/cells";
import type { Dataset } from "../data/dataset";
import { interval, notVerified, ratio, statusText, tick, verdictText } from "../data/format";

const barHeight = 11,
  rowGap = 14;

/** Ratios that stand on the axis, which has their logarithms. */
const ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 50, 100];
const fineTicks = [0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5];
const place = Math.log2;
/** On a narrow page a row's name stands above its bars. */
const headRoom = 26;

/** `baseline`, with the mark of what is not verified here if a bar has such a point below it. */
export function markedBaseline(data: Dataset, found: Speedup[], baseline: string): string {
  const mark = ` (${statusText(notVerified)})`,
    foreign = found.some((item) => data.unverified.has(data.columnText(item.baseline)));
  return foreign && !baseline.endsWith(mark) ? baseline + mark : baseline;
}

/** A bar from 1 to the ratio. Items: middle of the row, ratio, low, high, place within the row, bars of the row. */
function bar(look: Look, { fill, stroke, lineWidth, lineDash }: Paint) {
  const ink = inks(look);
  return (_params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
    const row = api.value(0) as number,
      value = api.value(1) as number,
      at = api.value(4) as number,
      bars = api.value(5) as number;
    const [one, middle] = api.coord([0, row]),
      y = middle + (at - (bars - 1) / 2) * barHeight;
    const x = api.coord([value, row])[0],
      low = api.coord([api.value(2), row])[0],
      high = api.coord([api.value(3), row])[0];
    const whisker = (x1: number, x2: number, up: number) => ({
      type: "line" as const,
      shape: { x1, x2, y1: y - up, y2: y + up },
      style: { stroke: ink.strong, lineWidth: 1.2, opacity: 0.85 },
    });
    return {
      type: "group" as const,
      children: [
        {
          type: "rect" as const,
          shape: {
            x: Math.min(one, x),
            y: y - barHeight / 2 + 1,
            width: Math.max(1, Math.abs(x - one)),
            height: barHeight - 2,
          },
          style: { fill, opacity: lineWidth ? 1 : 0.88, stroke, lineWidth, lineDash },
          emphasis: { style: { opacity: 1 } },
        },
        whisker(low, high, 0),
        whisker(low, low, 3),
        whisker(high, high, 3),
      ],
    };
  };
}

/** Where rows stand below each other, in pixels: each is as high as its bars and its name need. */
function rowsOf(bars: number[], twoLines: boolean, head: number): { middles: number[]; height: number } {
  let height = 0;
  const middles = bars.map((count) => {
    const tall = Math.max(count * barHeight, head ? 0 : twoLines ? 28 : 14),
      middle = height + head + tall / 2;
    height += head + tall + rowGap;
    return middle;
  });
  return { middles, height };
}

/** `colours`: the number of each column, the same on every page of the plot. */
export function speedups(
  data: Dataset,
  found: Speedup[],
  chosen: string,
  colours: Map<string, number>,
  look: Look,
): Plot {
  const baseline = markedBaseline(data, found, chosen);
  const { platforms } = data.document,
    across = platformOf(chosen) !== undefined && platforms.length > 1;
  /** The bar's name, with its platform where bars of several stand beside each other. */
  const nameOf = (point: number) => (across ? data.placedText(point) : data.scheduledText(point));
  const colourOf = (name: string) => {
    if (!colours.has(name)) colours.set(name, colours.size);
    return colours.get(name)!;
  };
  const rows = [...new Set(found.map((item) => item.cell))];
  const byRow = rows.map((cell) => found.filter((item) => item.cell === cell));
  const columns = [...new Set(found.map((item) => nameOf(item.point)))].sort((a, b) => colourOf(a) - colourOf(b));
  const narrow = look.width < 640,
    contexts = new Set(rows.map((cell) => cell.context)),
    told = contexts.size > 1 || (narrow && platforms.length > 1), // beside each row
    { middles, height } = rowsOf(
      byRow.map((items) => items.length),
      told,
      narrow ? headRoom : 0,
    );
  const labels = narrow ? 14 : Math.min(440, look.width * 0.34);
  const marks: Mark[] = [];
  let low = 0.8,
    high = 1.25;
  const series = columns.map((column, index) => {
    const items: { value: number[]; point: number; isRange: boolean; verdict: string }[] = [];
    byRow.forEach((row, y) =>
      row.forEach((item, at) => {
        if (nameOf(item.point) !== column) return;
        const judged = judgementOf(data, item.baseline, item.point);
        low = Math.min(low, judged.low);
        high = Math.max(high, judged.high);
        marks.push({
          series: index,
          item: items.length,
          point: item.point,
          label: () =>
            `${column}, ${item.cell.problem}, ${item.cell.context}: ${ratio(judged.ratio)} (${interval(judged)}), ${verdictText(judged)}`,
        });
        items.push({
          value: [middles[y], place(judged.ratio), place(judged.low), place(judged.high), at, row.length],
          point: item.point,
          isRange: judged.isRange,
          verdict: verdictText(judged),
        });
      }),
    );
    const painted = paint(colourOf(column), look);
    return {
      type: "custom",
      name: column,
      itemStyle: { color: painted.fill },
      renderItem: bar(look, painted),
      encode: { x: [1, 2, 3], y: 0 },
      data: items,
      clip: true,
    };
  });
  const fits = narrow ? look.width - 38 : labels - 12, // pixels
    ink = inks(look),
    shown = (high < 4 * low ? fineTicks : ticks).filter((tick) => tick >= low * 0.96 && tick <= high * 1.04).map(place);
  const names = {
    type: "custom",
    silent: true,
    z: 6, // above the line at 1
    encode: { x: 1, y: 0 },
    data: middles.map((middle) => [middle, 0]),
    renderItem: (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
      const row = params.dataIndex,
        middle = api.coord([0, middles[row]])[1];
      const context = told ? fit(` · ${rows[row].context}`, fits * 0.45) : "";
      return {
        type: "text",
        style: {
          text: fit(rows[row].problem, fits - textWidth(context)) + context,
          backgroundColor: ink.surface, // the lines of the grid end beside the name
          padding: [1, 4],
          x: labels + 2,
          y: middle - (byRow[row].length * barHeight) / 2 - 4,
          textVerticalAlign: "bottom",
          fill: ink.text,
          fontSize: 11,
        },
      };
    },
  };
  const keys = legend(look, columns, { paints: columns.map((column) => paint(colourOf(column), look)) });
  const labelOf = (value: number) => {
    const cell = rows[middles.findIndex((middle) => Math.abs(middle - value) < 1)];
    if (!cell) return "";
    return told ? `${fit(cell.problem, fits)}\n${fit(cell.context, fits)}` : fit(cell.problem, fits);
  };
  const option = {
    ...base(look),
    legend: keys.legend,
    grid: { outerBoundsMode: "none", left: labels, right: 18, top: keys.bottom + 8, height },
    xAxis: axis(look, {
      type: "value",
      min: place(low * 0.96),
      max: place(high * 1.04),
      axisTick: { show: false, customValues: shown },
      name: narrow
        ? `speedup over ${baseline}`
        : `speedup over ${baseline} (time of ${baseline} / time)${contexts.size === 1 ? `: ${[...contexts][0]}` : ""}`,
      nameGap: 26,
      axisLabel: { customValues: shown, formatter: (value: number) => `${tick(2 ** value)}×` },
    }),
    yAxis: axis(look, {
      type: "value",
      inverse: true,
      min: 0,
      max: height,
      splitLine: { show: false },
      axisTick: { show: false, customValues: middles },
      axisLabel: {
        color: ink.text,
        customValues: middles,
        formatter: labelOf,
        hideOverlap: false,
        lineHeight: 14,
        show: !narrow,
        width: labels - 10,
      },
    }),
    series: [...series, guide(look, 1, [{ xAxis: 0 }]), ...(narrow ? [names] : [])],
  };
  hover(option, (item: { data: { value: number[]; point: number; isRange: boolean; verdict: string } }) =>
    pointTip(data, item.data.point, [
      ["speedup", ratio(2 ** item.data.value[1])],
      ["95 % interval", interval({ low: 2 ** item.data.value[2], high: 2 ** item.data.value[3], isRange: item.data.isRange })],
      ["verdict", item.data.verdict],
    ]),
  );
  return { height: keys.bottom + 8 + height + 56, option, marks };
}
