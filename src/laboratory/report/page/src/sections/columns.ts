// Columns that tables of points share.
import type { Dataset } from "../data/dataset";
import { notVerified, time } from "../data/format";
import type { TableColumn } from "../ui/table";

export function statusClass(status: string): string {
  return status === "passed"
    ? "good"
    : status === "unimplemented" || status === "same_as"
      ? "quiet"
      : status === "mistrusted" || status === notVerified
        ? "warn"
        : "bad";
}

/** The setting, without defaults. */
export const settingColumn = (data: Dataset, width: string): TableColumn<number> => ({
  name: "setting",
  width,
  text: (point) => data.settingText(point),
  full: (point) => data.setting(point).text,
});

/** The platform; the table has no such column where there is one. */
export const platformColumn = (data: Dataset): TableColumn<number> => ({
  name: "platform",
  width: "minmax(8rem, 1fr)",
  text: (point) => data.platformText(point),
});

/** The time, by the chosen statistic, and the interval of the median over the starts. */
export const timeColumns = (data: Dataset): TableColumn<number>[] => [
  {
    name: "time",
    width: "6.2rem",
    numeric: true,
    text: (point) => time(data.time(point)),
    value: (point) => data.time(point),
  },
  {
    name: "median: 95 % of the starts",
    width: "14rem",
    numeric: true,
    value: (point) => data.number(point, "high") - data.number(point, "low"),
    text: (point) =>
      data.timed(point)
        ? `${time(data.number(point, "low"))} – ${time(data.number(point, "high"))}${data.isRange(point) ? " (range)" : ""}`
        : "",
  },
];

export const statusColumn = (data: Dataset): TableColumn<number> => ({
  name: "status",
  width: "9.5rem",
  text: (point) => data.statusText(point),
  badge: (point) => (data.unchecked(point) ? "quiet" : statusClass(data.text(point, "status"))),
});
