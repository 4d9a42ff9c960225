// Roofline: speed over operations per byte, both logarithmic, with the ceilings of `lathe machine`.
import { pointTip } from "./points";
import { axis, base, colour, hover, inks, legend, round125, shape, type Look, type Mark, type Plot } from "./plot";
import type { Dataset } from "../data/dataset";
import { digits } from "../data/format";
import type { Ceilings } from "../data/schema";

/** From so many points on ECharts draws them in one go. */
const many = 4000;

interface Ceiling {
  name: string;
  points: [number, number][];
  flat: boolean;
}

/** Lines of the ceilings with `threads` threads over the intensities from `low` to `high`. */
function ceilingLines(ceilings: Ceilings, types: Set<string>, threads: number, low: number, high: number): Ceiling[] {
  const at = (list: number[]) => list[Math.min(threads, list.length) - 1];
  const peaks = new Map<string, number>();
  for (const { type, gflops } of ceilings.arithmetic)
    if (types.has(type) || type === "f32") peaks.set(type, Math.max(peaks.get(type) ?? 0, at(gflops) ?? 0));
  const highest = Math.max(...peaks.values());
  const lines: Ceiling[] = [...peaks].map(([type, peak]) => ({
    name: `${type} peak ${digits(peak, 3)} GFLOPS`,
    points: [
      [low, peak],
      [high, peak],
    ],
    flat: true,
  }));
  for (const level of ceilings.levels) {
    const read = at(level.read_gb_s),
      copy = at(level.copy_gb_s);
    if (!(read > 0) || !(copy > 0)) continue;
    const bandwidth = (read + copy) / 2,
      end = Math.min(high, highest / bandwidth);
    if (end > low)
      lines.push({
        name: `${level.name} ${digits(bandwidth, 3)} GB/s`,
        points: [
          [low, low * bandwidth],
          [end, end * bandwidth],
        ],
        flat: false,
      });
  }
  return lines;
}

export function roofline(
  data: Dataset,
  points: number[],
  threads: number,
  colours: Map<string, number>,
  look: Look,
): Plot {
  const ink = inks(look),
    byColumn = new Map<string, number[]>();
  const intensity = (point: number) => data.problem(point).flops / data.problem(point).bytes;
  let low = Infinity,
    high = 0,
    slow = Infinity,
    fast = 0;
  const types = new Set<string>();
  for (const point of points) {
    const x = intensity(point),
      y = data.gflops(point);
    if (!(x > 0) || !(y > 0)) continue;
    [low, high, slow, fast] = [Math.min(low, x), Math.max(high, x), Math.min(slow, y), Math.max(fast, y)];
    types.add(data.setting(point).type);
    const column = data.columnText(point),
      list = byColumn.get(column);
    if (list) list.push(point);
    else byColumn.set(column, [point]);
  }
  [low, high] = [round125(low / 1.3, false), round125(high * 1.3, true)];
  const marks: Mark[] = [],
    large = points.length > many;
  const columns = [...byColumn].sort((a, b) => colours.get(a[0])! - colours.get(b[0])!);
  const series: object[] = columns.map(([name, list], index) => {
    list.forEach((point, item) =>
      marks.push({
        series: index,
        item,
        point,
        label: () =>
          `${name}, ${data.problem(point).text}: ${digits(data.gflops(point))} GFLOPS at ${digits(intensity(point), 3)} FLOP/byte`,
      }),
    );
    return {
      type: "scatter",
      name,
      large,
      largeThreshold: many,
      progressive: 0,
      symbol: shape(colours.get(name)!),
      symbolSize: large ? 3 : 9,
      itemStyle: { color: colour(colours.get(name)!, look), opacity: large ? 0.5 : 0.8 },
      data: large
        ? Float64Array.from({ length: 2 * list.length }, (_value, i) =>
            i % 2 ? data.gflops(list[i >> 1]) : intensity(list[i >> 1]),
          )
        : list.map((point) => [intensity(point), data.gflops(point)]),
    };
  });
  const ceilings = points.length ? data.platform(points[0]).ceilings : null;
  const lines = ceilings && columns.length ? ceilingLines(ceilings, types, threads, low, high) : [];
  const top = round125(Math.max(fast, ...lines.flatMap((line) => line.points.map((point) => point[1]))) * 1.2, true),
    bottom = round125(slow / 1.2, false);
  // Names stand at the left end of a peak, and where a bandwidth comes into the plot.
  const nameAt = ({ flat, points: [[x, y]] }: Ceiling) => (flat || y > bottom ? [x, y] : [(x * bottom) / y, bottom]);
  lines.forEach((line, index) =>
    series.push({
      type: "line",
      data: line.points,
      symbol: "none",
      silent: true,
      tooltip: { show: false },
      lineStyle: { color: ink.muted, width: 1.4, type: line.flat ? "solid" : "dashed" },
      endLabel: { show: false },
      markPoint: {
        symbol: "circle",
        symbolSize: 1,
        silent: true,
        data: [
          {
            coord: nameAt(line),
            value: line.name,
            label: {
              show: true,
              formatter: look.width < 640 ? line.name.split(" ")[0] : line.name,
              color: ink.muted,
              fontSize: 11,
              position: "right",
              distance: line.flat ? 4 : 14,
              offset: [0, line.flat ? -9 : -8 - 13 * (index % 4)],
            },
          },
        ],
      },
    }),
  );
  const option = {
    ...base(look),
    legend: legend(
      look,
      columns.map(([name]) => name),
    ),
    grid: { outerBoundsMode: "none", left: 58, right: 20, top: 60, bottom: 48 },
    xAxis: axis(look, {
      type: "log",
      min: low,
      max: high,
      name: "operations per byte of compulsory traffic (FLOP/byte)",
      nameLocation: "middle",
      nameGap: 28,
      axisLabel: { formatter: (value: number) => digits(value, 2) },
    }),
    yAxis: axis(look, {
      type: "log",
      min: bottom,
      max: top,
      name: "GFLOPS",
      axisLabel: { formatter: (value: number) => digits(value, 2) },
    }),
    series,
  };
  hover(option, (item: { seriesIndex: number; dataIndex: number }) =>
    pointTip(data, columns[item.seriesIndex]?.[1][item.dataIndex] ?? -1),
  );
  return { height: look.width < 640 ? 420 : 520, option, marks };
}
