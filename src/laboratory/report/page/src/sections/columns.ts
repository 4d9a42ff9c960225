// Columns that tables of points share.
import type { Dataset } from "../data/dataset";
import { notVerified, problemTitle, time } from "../data/format";
import { numberColumn, type TableColumn } from "../ui/table";

export function statusClass(status: string): string {
  return status === "passed"
    ? "good"
    : status === "unimplemented" || status === "same_as"
      ? "quiet"
      : status === "mistrusted" || status === notVerified
        ? "warn"
        : "bad";
}

/** The problem of a row's point, without what goes without saying. */
export const problemColumn = <Row>(data: Dataset, name: string, width: string, of: (row: Row) => number): TableColumn<Row> => ({
  ...{ name, width },
  text: (row) => problemTitle(data.problem(of(row)).text),
  full: (row) => data.problem(of(row)).text,
  value: (row) => data.problem(of(row)).text,
});

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
  numberColumn("time", "6.2rem", (point) => data.time(point), time),
  numberColumn("median: 95 % of the starts", "14rem", (point) => data.number(point, "high") - data.number(point, "low"),
    (_width, point) => `${time(data.number(point, "low"))} – ${time(data.number(point, "high"))}${data.isRange(point) ? " (range)" : ""}`),
];

export const statusColumn = <Row>(data: Dataset, of: (row: Row) => number): TableColumn<Row> => ({
  name: "status",
  width: "9.5rem",
  text: (row) => data.statusText(of(row)),
  badge: (row) => (data.unchecked(of(row)) ? "quiet" : statusClass(data.text(of(row), "status"))),
});
