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
    aria: { enabled: !look.still },
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

/** Lines and labels of an axis. */
export function axis(look: Look, more: Record<string, unknown>): Record<string, unknown> {
  const ink = inks(look);
  return {
    axisLine: { lineStyle: { color: ink.line } },
    axisTick: { show: false },
    axisLabel: { color: ink.muted, fontSize: 11, hideOverlap: true, ...(more.axisLabel as object) },
    splitLine: { lineStyle: { color: ink.line } },
    nameTextStyle: { color: ink.muted, fontSize: 11 },
    ...Object.fromEntries(Object.entries(more).filter(([name]) => name !== "axisLabel")),
  };
}

export function legend(look: Look, names: string[], more: Record<string, unknown> = {}): Record<string, unknown> {
  const ink = inks(look);
  return {
    data: names,
    type: look.still ? "plain" : "scroll",
    top: 0,
    left: 0,
    itemGap: look.still ? 16 : 10,
    itemWidth: 12,
    itemHeight: 12,
    textStyle: { color: ink.text, fontSize: 12 },
    pageTextStyle: { color: ink.muted },
    pageIconColor: ink.text,
    pageIconInactiveColor: ink.line,
    ...more,
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
