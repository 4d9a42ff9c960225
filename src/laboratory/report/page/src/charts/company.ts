// A matrix of slow-downs: measured problems down, what ran beside them across, the ratio to the time alone as colour.
import { axis, base, fit, hover, inks, textWidth, tip, type Look, type Plot } from "./plot";
import type { CompanyMatrix } from "../data/company";
import type { Dataset } from "../data/dataset";
import { interval, ratio, time } from "../data/format";

const cellHeight = 34;

export function company(data: Dataset, matrix: CompanyMatrix, look: Look): Plot {
  const ink = inks(look),
    room = Math.min(look.width * 0.4, 12 + Math.max(...matrix.problems.map((text) => textWidth(text)))),
    height = matrix.problems.length * cellHeight,
    left = room + 30,
    wide = Math.min(260, (look.width - left - 20) / matrix.companies.length);
  // What all companies have in common stands once, below the axis.
  const ends = matrix.companies.map((text) => text.slice(text.lastIndexOf(" ("))),
    common = new Set(ends).size === 1 ? ends[0] : "",
    names = matrix.companies.map((text) => fit(common ? text.slice(0, -common.length) : text, wide - 12));
  const items = matrix.cells.flatMap((row, y) =>
    row.flatMap((cell, x) => (cell ? [{ value: [x, y, Math.log2(cell.judged.ratio)], cell }] : [])),
  );
  const option = {
    ...base(look),
    grid: { outerBoundsMode: "none", left, top: 8, width: wide * matrix.companies.length, height },
    xAxis: axis(look, {
      type: "category",
      data: names,
      name: `beside${common}`,
      nameGap: 30,
      axisLabel: { color: ink.text, interval: 0 },
      splitLine: { show: false },
    }),
    yAxis: axis(look, {
      type: "category",
      data: matrix.problems.map((text) => fit(text, room)),
      inverse: true,
      name: "measured",
      nameGap: room + 10,
      axisLabel: { color: ink.text, interval: 0 },
      splitLine: { show: false },
    }),
    visualMap: {
      show: false,
      min: 0,
      max: 1, // twice the time
      dimension: 2,
      inRange: { color: look.dark ? ["#1d2a38", "#7a4a1e", "#d55e00"] : ["#f4f6f9", "#f3c9a5", "#d98c4a"] },
    },
    series: [
      {
        type: "heatmap",
        data: items,
        label: {
          show: true,
          color: ink.text,
          formatter: (item: { data: (typeof items)[number] }) => {
            const { judged } = item.data.cell,
              whole = `${ratio(judged.ratio)} (${interval(judged)})`;
            return textWidth(whole) < wide - 8 ? whole : ratio(judged.ratio);
          },
        },
        itemStyle: { borderColor: ink.surface, borderWidth: 1 },
      },
    ],
  };
  const lines = ({ cell, value }: (typeof items)[number]): [string, string?][] => [
    [`${matrix.problems[value[1]]} beside ${matrix.companies[value[0]]}`],
    ["time in company / alone", `${ratio(cell.judged.ratio)}, ${interval(cell.judged)}`],
    ["in company", time(data.time(cell.point))],
    ["alone", time(data.time(cell.alone))],
    ["runs of the companion", `${Math.round(data.figures(cell.point).companion_rate ?? NaN).toLocaleString("en")} /s`],
  ];
  hover(option, (item: { data: (typeof items)[number] }) => tip(lines(item.data)));
  return {
    height: height + 60,
    option,
    marks: items.map((item, index) => ({
      series: 0,
      item: index,
      point: item.cell.point,
      label: () => lines(item).map((line) => line.filter(Boolean).join(" ")).join(", "),
    })),
  };
}
