// Roofline: speed over operations per byte, both logarithmic, with the ceilings of `lathe machine`.
import { pointTip } from "./points";
import { axis, base, colour, hover, inks, legend, round125, shape, type Look, type Mark, type Plot } from "./plot";
import type { Dataset } from "../data/dataset";
import { count, digits, tick } from "../data/format";
import type { Ceilings } from "../data/schema";

/** From so many points on ECharts draws them in one go. */
const many = 4000;

/** Around the plot, in pixels. */
const room = { left: 58, right: 20, bottom: 48 };

interface Ceiling {
  name: string;
  points: [number, number][];
  flat: boolean;
}

/** The arithmetic peaks that are drawn, in GFLOPS: those of `types`, and of f32. */
function peaksOf(ceilings: Ceilings, types: Set<string>, threads: number): Map<string, number> {
  const peaks = new Map<string, number>();
  for (const { type, gflops } of ceilings.arithmetic)
    if (types.has(type) || type === "f32")
      peaks.set(type, Math.max(peaks.get(type) ?? 0, gflops[Math.min(threads, gflops.length) - 1] ?? 0));
  return peaks;
}

/** Which peaks are drawn, and why points are above them; "" without ceilings. */
export function peaksText(data: Dataset, { ceilings, types, threads, columns }: RooflinePoints): string {
  if (!ceilings) return "";
  const peaks = peaksOf(ceilings, types, threads),
    highest = Math.max(...peaks.values());
  const above = columns.flatMap(({ points }) => points).filter((point) => data.gflops(point) > 1.02 * highest),
    ways = above.map((point) => `${data.scheduleText(point)} ${data.text(point, "implementation")}`);
  const fewer = ways.filter((way) => /wino/i.test(way)).length,
    narrow = ways.filter((way) => !/wino/i.test(way) && /bf16|int8|[su]8s8|vnni/i.test(way)).length,
    rest = above.length - fewer - narrow;
  const reasons = [
    fewer ? `${fewer} with Winograd's algorithm, which needs fewer operations than the plain one, which are counted` : "",
    narrow ? `${narrow} with arithmetic in a narrower type, whose peak is higher` : "",
    rest ? `${rest} for no reason that is stored (the clock may have been higher)` : "",
  ].filter(Boolean);
  const drawn = [...peaks].map(([type, peak]) => `${type} ${digits(peak, 4)} GFLOPS`).join(", ");
  return `Peaks: ${drawn}.${above.length ? ` ${count(above.length, "point")} above: ${reasons.join("; ")}.` : ""}`;
}

/** Lines of the ceilings with `threads` threads over the intensities from `low` to `high`. */
function ceilingLines(ceilings: Ceilings, types: Set<string>, threads: number, low: number, high: number): Ceiling[] {
  const at = (list: number[]) => list[Math.min(threads, list.length) - 1];
  const peaks = peaksOf(ceilings, types, threads);
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

/** What a roofline shows, in any colours and at any width. */
export interface RooflinePoints {
  ceilings: Ceilings | null;
  threads: number;
  place: string; // " on EPYC 9755" where there are several platforms
  types: Set<string>; // element types
  large: boolean;
  columns: { name: string; points: number[]; values: Float64Array }[]; // intensity and speed of each point in turns
  marks: Mark[];
  range: [number, number, number, number]; // least and largest intensity, least and largest speed
}

export function rooflinePoints(
  data: Dataset,
  points: number[],
  threads: number,
  colours: Map<string, number>,
): RooflinePoints {
  const byColumn = new Map<string, number[]>();
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
  const marks: Mark[] = [];
  const columns = [...byColumn]
    .sort((a, b) => colours.get(a[0])! - colours.get(b[0])!)
    .map(([name, list], series) => {
      const values = new Float64Array(2 * list.length);
      list.forEach((point, item) => {
        values[2 * item] = intensity(point);
        values[2 * item + 1] = data.gflops(point);
        const label = () =>
          `${name}${data.onPlatform(point)}, ${data.problem(point).text}: ${digits(data.gflops(point))} GFLOPS at ${digits(intensity(point), 3)} FLOP/byte`;
        marks.push({ series, item, point, label });
      });
      return { name, points: list, values };
    });
  return {
    ceilings: points.length ? data.platform(points[0]).ceilings : null,
    threads,
    place: points.length ? data.onPlatform(points[0]) : "",
    types,
    large: points.length > many,
    columns,
    marks,
    range: [low, high, slow, fast],
  };
}

const pairs = (values: Float64Array): number[][] =>
  Array.from({ length: values.length / 2 }, (_pair, i) => [values[2 * i], values[2 * i + 1]]);

export function roofline(data: Dataset, shown: RooflinePoints, colours: Map<string, number>, look: Look): Plot {
  const ink = inks(look),
    { ceilings, threads, types, large, columns, marks } = shown,
    [least, most, slow, fast] = shown.range;
  const [low, high] = [round125(least / 1.3, false), round125(most * 1.3, true)];
  const series: object[] = columns.map(({ name, values }) => ({
    type: "scatter",
    name,
    large,
    largeThreshold: many,
    progressive: 0,
    symbol: shape(colours.get(name)!),
    symbolSize: large ? 3 : 9,
    itemStyle: { color: colour(colours.get(name)!, look), opacity: large ? 0.5 : 0.8 },
    data: large ? values : pairs(values),
  }));
  const lines = ceilings && columns.length ? ceilingLines(ceilings, types, threads, low, high) : [];
  const top = round125(Math.max(fast, ...lines.flatMap((line) => line.points.map((point) => point[1]))) * 1.2, true),
    bottom = round125(slow / 1.2, false);
  const names = legend(
    look,
    columns.map((column) => column.name),
  );
  const above = names.bottom + 34, // the name of the axis is there, too
    height = (look.width < 640 ? 360 : 460) + above,
    across = (look.width - room.left - room.right) / Math.log(high / low),
    up = (height - above - room.bottom) / Math.log(top / bottom),
    steep = (Math.atan2(up, across) * 180) / Math.PI; // of a line of equal bandwidth, in degrees
  // Names stand at the left end of a peak, and where a bandwidth comes into the plot.
  const nameAt = ({ flat, points: [[x, y]] }: Ceiling) => (flat || y > bottom ? [x, y] : [(x * bottom) / y, bottom]);
  lines.forEach((line) =>
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
              position: "inside",
              align: "left",
              verticalAlign: "bottom",
              rotate: line.flat ? 0 : steep,
              offset: [5, -3],
            },
          },
        ],
      },
    }),
  );
  const option = {
    ...base(look),
    legend: names.legend,
    grid: { outerBoundsMode: "none", ...room, top: above },
    xAxis: axis(look, {
      type: "log",
      min: low,
      max: high,
      name: `operations per byte${look.width < 640 ? "" : " of compulsory traffic"} (FLOP/byte)${shown.place}`,
      nameGap: 28,
      axisLabel: { formatter: (value: number) => tick(value, 2) },
    }),
    yAxis: axis(look, {
      type: "log",
      min: bottom,
      max: top,
      name: "GFLOPS",
      axisLabel: { formatter: (value: number) => tick(value, 2) },
    }),
    series,
  };
  hover(option, (item: { seriesIndex: number; dataIndex: number }) =>
    pointTip(data, columns[item.seriesIndex]?.points[item.dataIndex] ?? -1),
  );
  return { height, option, marks };
}
