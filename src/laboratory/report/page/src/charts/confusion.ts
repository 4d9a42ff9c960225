// A confusion matrix: classes of the pictures down, decisions across, the share of the class as colour.
import { axis, base, hover, inks, tip, type Look, type Plot } from "./plot";
import { percent } from "../data/format";
import type { Confusion } from "../data/networks";

export function confusion(matrix: Confusion, look: Look): Plot {
  const ink = inks(look),
    { names } = matrix,
    n = names.length,
    longest = Math.max(...names.map((name) => name.length)),
    room = Math.min(150, 10 + 7 * longest), // of a name beside the matrix
    slanted = longest > 3;
  const sums = matrix.classes.map((label) =>
    matrix.classes.reduce((sum, decision) => sum + (matrix.counts.get(`${label} ${decision}`) ?? 0), 0),
  );
  const items = matrix.classes.flatMap((label, y) =>
    matrix.classes.flatMap((decision, x) => {
      const count = matrix.counts.get(`${label} ${decision}`) ?? 0;
      return count ? [{ value: [x, y, count / sums[y]], count }] : [];
    }),
  );
  const left = room + 40,
    below = slanted ? 20 + 0.75 * room : 28,
    side = Math.max(120, Math.min(look.width - left - 20, Math.max(180, Math.min(620, n * 34))));
  const label = { color: ink.text, interval: n > 40 ? "auto" : 0, width: room, overflow: "truncate" };
  const option = {
    ...base(look),
    grid: { outerBoundsMode: "none", left, top: 8, width: side, height: side },
    xAxis: axis(look, {
      type: "category",
      data: names,
      name: "decision",
      nameGap: below,
      axisLabel: slanted ? { ...label, rotate: 45 } : label,
      splitLine: { show: false },
    }),
    yAxis: axis(look, {
      type: "category",
      data: names,
      inverse: true,
      name: "class",
      nameGap: room + 14,
      axisLabel: label,
      splitLine: { show: false },
    }),
    visualMap: {
      show: false,
      min: 0,
      max: 1,
      dimension: 2,
      inRange: { color: look.dark ? ["#1d2a38", "#2c6ea3", "#8fd2f7"] : ["#eaf2f9", "#5b9fcb", "#083a5e"] },
    },
    series: [
      {
        type: "heatmap",
        data: items,
        label: { show: n <= 16, formatter: (item: { data: { count: number } }) => String(item.data.count) },
        itemStyle: { borderColor: ink.surface, borderWidth: 1 },
      },
    ],
  };
  hover(option, (item: { data: { value: number[]; count: number } }) =>
    tip([
      [`class ${names[item.data.value[1]]}, decision ${names[item.data.value[0]]}`],
      ["pictures", String(item.data.count)],
      ["of the class", percent(item.data.value[2])],
    ]),
  );
  return {
    height: side + below + 32,
    option,
    marks: items.map((item, index) => ({
      series: 0,
      item: index,
      point: matrix.point,
      label: () =>
        `class ${names[item.value[1]]}, decision ${names[item.value[0]]}: ${item.count}, ${percent(item.value[2])} of the class`,
    })),
  };
}
