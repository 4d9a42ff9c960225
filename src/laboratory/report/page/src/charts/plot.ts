// What a plot is: an ECharts option with the points that its marks stand for. The page draws it on a canvas,
// `lathe report --svg` as SVG (svg/main.ts).
import { format, type EChartsCoreOption } from "echarts/core";
import { shorten } from "../data/format";

export interface Look {
  dark: boolean;
  width: number; // of the drawing, in pixels
  still: boolean; // a picture for paper: no interaction, everything on one page
}

export interface Mark {
  series: number;
  item: number; // index of the data in its series
  point: number; // index of the point; -1: no single one
  label(): string; // for those who hear the page; made when it is asked for
  place?: [number, number]; // on the axes of a plot with an extent
  ways?: Record<string, number>; // keys that lead to other marks than the next one, by index
}

export interface Plot {
  height: number;
  option: EChartsCoreOption;
  marks: Mark[];
  extent?: [number, number]; // of both axes, from 0, for a plot that is moved and zoomed
}

/** Text and grey of the page, which style.css has too. */
export function inks(look: Look) {
  return look.dark
    ? { text: "#e6e9ef", muted: "#9aa4b2", line: "#333b47", surface: "#171b22", strong: "#ffffff" }
    : { text: "#1c2330", muted: "#5d6777", line: "#dfe3ea", surface: "#ffffff", strong: "#000000" };
}

/** Lines across a plot. */
export const guide = (look: Look, width: number, data: object[]) => ({
  type: "line",
  data: [],
  markLine: {
    symbol: "none",
    silent: true,
    label: { show: false },
    lineStyle: { color: inks(look).text, type: "solid", width },
    data,
  },
});

/** Colours that stay apart for eyes with any deficiency (Okabe and Ito), and shapes that tell them apart once more. */
const light = ["#0072b2", "#d55e00", "#009e73", "#b5528f", "#a87400", "#3a9bd0", "#6b4ba3", "#555f6e"];
const dark = ["#4aa8e8", "#ff8847", "#2fc99b", "#e592c4", "#eab543", "#8fd2f7", "#b39af0", "#aab4c2"];
const shapes = [
  "circle",
  "rect",
  "triangle",
  "diamond",
  "path://M0,0L10,0L5,9Z",
  "path://M3,0h4v3h3v4h-3v3h-4v-3h-3v-4h3z",
  "path://M0,2L2,0L5,3L8,0L10,2L7,5L10,8L8,10L5,7L2,10L0,8L3,5Z",
  "path://M5,0L10,4L8,10L2,10L0,4Z",
];
export const colour = (index: number, look: Look): string => (look.dark ? dark : light)[index % light.length];

/** How a bar or a violin is painted. */
export interface Paint {
  fill: string;
  stroke: string;
  lineWidth: number;
  lineDash: number[] | null;
}
/** Of every eight columns areas are painted in a way of their own: no two of forty columns look the same. */
export function paint(index: number, look: Look): Paint {
  const hue = colour(index, look),
    ink = inks(look),
    pale = between(hue, ink.surface);
  const ways: Paint[] = [
    { fill: hue, stroke: hue, lineWidth: 0, lineDash: null },
    { fill: ink.surface, stroke: hue, lineWidth: 2, lineDash: null },
    { fill: pale, stroke: ink.text, lineWidth: 1, lineDash: null },
    { fill: ink.surface, stroke: hue, lineWidth: 2, lineDash: [4, 2] },
    { fill: pale, stroke: ink.text, lineWidth: 1.4, lineDash: [2, 2] },
  ];
  return ways[Math.floor(index / light.length) % ways.length];
}
/** The middle between two colours "#rrggbb". */
function between(a: string, b: string): string {
  const part = (text: string, at: number) => Number.parseInt(text.slice(at, at + 2), 16);
  return `#${[1, 3, 5].map((at) => Math.round((part(a, at) + part(b, at)) / 2).toString(16).padStart(2, "0")).join("")}`;
}
/** The dashes of the lines of a column. */
export const dashes = (index: number): string =>
  ["solid", "dashed", "dotted"][Math.floor(index / light.length) % 3];
export const shape = (index: number): string => shapes[(index + Math.floor(index / shapes.length)) % shapes.length];

export const font = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

/** In pixels. */
export const textWidth = (text: string, size = 11, weight = 400): number =>
  format.getTextRect(text, `${weight} ${size}px ${font}`).width;

/** `text`, with its middle left out where it is wider than `width` pixels. */
export function fit(text: string, width: number, size = 11, weight = 400): string {
  const widthOf = (part: string) => textWidth(part, size, weight);
  if (widthOf(text) <= width) return text;
  let most = Math.ceil((text.length * width) / widthOf(text)) + 2;
  while (most > 4 && widthOf(shorten(text, most)) > width) --most;
  return shorten(text, most);
}

/** The next 1, 2 or 5 times a power of ten, down or up. */
export function round125(value: number, up: boolean): number {
  const power = 10 ** Math.floor(Math.log10(value)),
    steps = [1, 2, 5, 10].map((step) => step * power);
  return (
    (up ? steps.find((step) => step >= value * 0.999999) : steps.reverse().find((step) => step <= value * 1.000001)) ??
    value
  );
}

/** The parts of an option that all plots share. */
export function base(look: Look): EChartsCoreOption {
  const ink = inks(look);
  return {
    animation: false,
    backgroundColor: look.still ? ink.surface : "transparent",
    textStyle: { fontFamily: font, color: ink.text, fontSize: 12 },
    tooltip: look.still
      ? { show: false }
      : {
          confine: true,
          backgroundColor: ink.surface,
          borderColor: ink.line,
          textStyle: { color: ink.text, fontSize: 12 },
          extraCssText: "max-width:min(32rem,90vw);white-space:normal;box-shadow:0 4px 16px rgba(0,0,0,.18)",
        },
  };
}

/** Sets what the tooltip of an option shows. */
export function hover(option: object, formatter: (item: never) => HTMLElement): void {
  const known = option as { tooltip?: object };
  known.tooltip = { ...known.tooltip, formatter };
}

/** Lines and labels of an axis. A name with a gap stands beside the middle of the axis, else at its end. */
export function axis(look: Look, more: Record<string, unknown>): Record<string, unknown> {
  const ink = inks(look);
  return {
    axisLine: { onZero: false, lineStyle: { color: ink.line } },
    axisTick: { show: false },
    axisLabel: { color: ink.muted, fontSize: 11, hideOverlap: true, ...(more.axisLabel as object) },
    splitLine: { lineStyle: { color: ink.line } },
    nameTextStyle: { color: ink.muted, fontSize: 11 },
    nameLocation: "nameGap" in more ? "middle" : "end",
    ...Object.fromEntries(Object.entries(more).filter(([name]) => name !== "axisLabel")),
  };
}

/** A legend, and where what stands below it begins, in pixels. */
export interface Legend {
  legend: object[];
  bottom: number;
}
const legendRow = 24;

/**
 * The names of `names`, in one row that scrolls on the page, in as many rows as they need in a picture. `paints`: how the
 * areas of the columns are painted; without it the marks of the legend are those of the series.
 */
export function legend(look: Look, names: string[], place: { top?: number; left?: number; paints?: Paint[] } = {}): Legend {
  const ink = inks(look),
    { top = 0, left = 0, paints } = place,
    gap = look.still ? 16 : 10,
    mark = 12,
    most = look.width - left - mark - 24; // of a name
  const shown = names.map((name) => fit(name, most, 12));
  const rows: number[][] = [[]];
  let used = 0;
  names.forEach((_name, index) => {
    const width = mark + 5 + textWidth(shown[index], 12) + gap;
    if (look.still && used && used + width > look.width - left - 12) {
      rows.push([]);
      used = 0;
    }
    used += width;
    rows[rows.length - 1].push(index);
  });
  const item = (index: number) => {
    const { fill, stroke, lineWidth, lineDash } = paints?.[index] ?? {};
    return paints
      ? {
          name: names[index],
          icon: "rect",
          itemStyle: { color: fill, borderColor: stroke, borderWidth: lineWidth, borderType: lineDash ?? "solid", opacity: 1 },
        }
      : { name: names[index] };
  };
  return {
    legend: rows.map((row, index) => ({
      data: row.map(item),
      type: look.still ? "plain" : "scroll",
      top: top + index * legendRow,
      left,
      itemGap: gap,
      itemWidth: mark,
      itemHeight: mark,
      formatter: (name: string) => shown[names.indexOf(name)] ?? name,
      textStyle: { color: ink.text, fontSize: 12 },
      pageTextStyle: { color: ink.muted },
      pageIconColor: ink.text,
      pageIconInactiveColor: ink.line,
    })),
    bottom: top + rows.length * legendRow + 2,
  };
}

/** A tooltip out of lines: the first is a title. Nothing of it is read as markup. */
export function tip(lines: [string, string?][]): HTMLElement {
  const box = document.createElement("div");
  for (const [label, value] of lines) {
    const row = box.appendChild(document.createElement("div"));
    row.className = value === undefined ? "tip-title" : "tip-row";
    row.appendChild(document.createElement("span")).textContent = label;
    if (value !== undefined) row.appendChild(document.createElement("b")).textContent = value;
  }
  return box;
}
