// The samples of one point in the order of measuring, rounds apart, with the median and its interval or range.
import { axis, base, colour, hover, inks, round125, tip, type Look, type Plot } from "./plot";
import type { Dataset } from "../data/dataset";
import { digits, time, unitOf } from "../data/format";

export function samples(data: Dataset, point: number, look: Look): Plot {
  const ink = inks(look),
    rounds = data.rounds(point),
    median = data.number(point, "median");
  const [scale, unit] = unitOf(median);
  const items: [number, number, number][] = [],
    starts: number[] = [];
  rounds.forEach((round, index) => {
    if (index) starts.push(items.length - 0.5);
    for (const ns of round) items.push([items.length, ns * 1e-9 * scale, index + 1]);
  });
  // A sample that took many times as long would leave no room for the others.
  const values = items.map((item) => item[1]).sort((a, b) => a - b),
    wide = values[values.length - 1] > 3 * values[0] && values[0] > 0;
  const line = (value: number, type: string) => ({ yAxis: value * scale, lineStyle: { color: ink.text, type } });
  const option = {
    ...base(look),
    grid: { outerBoundsMode: "none", left: 58, right: 14, top: 24, bottom: 40 },
    xAxis: axis(look, {
      type: "value",
      min: -0.5,
      max: items.length - 0.5,
      name: "sample, in order; lines divide rounds",
      nameGap: 24,
      splitLine: { show: false },
      minInterval: 1,
      axisLabel: { showMinLabel: false, showMaxLabel: false }, // of the ends, which are between samples
    }),
    yAxis: axis(look, {
      type: wide ? "log" : "value",
      scale: true,
      ...(wide
        ? { min: round125(values[0] / 1.05, false), max: round125(values[values.length - 1] * 1.05, true) }
        : {}),
      name: unit,
      axisLabel: { formatter: (value: number) => digits(value, 3) },
    }),
    series: [
      {
        type: "scatter",
        data: items,
        symbolSize: items.length > 400 ? 3 : 6,
        large: items.length > 4000,
        itemStyle: { color: colour(0, look), opacity: 0.7 },
        markLine: {
          symbol: "none",
          silent: true,
          label: { show: false },
          lineStyle: { color: ink.line, type: "solid", width: 1 },
          data: [
            ...(starts.length <= 80 ? starts.map((x) => ({ xAxis: x })) : []),
            line(median, "solid"),
            line(data.number(point, "low"), "dashed"),
            line(data.number(point, "high"), "dashed"),
          ],
        },
      },
    ],
  };
  hover(option, (item: { value: number[] }) =>
    tip([[`round ${item.value[2]}`], ["time", time(item.value[1] / scale)]]),
  );
  return {
    height: 210,
    option,
    marks: items.map((item, index) => ({
      series: 0,
      item: index,
      point,
      label: () => `round ${item[2]}: ${digits(item[1])} ${unit}`,
    })),
  };
}
