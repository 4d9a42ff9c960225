// The rows of sweeps: levels, layouts, targets, threads and resources of one network.
import { judgementOf } from "../data/cells";
import { bytes, interval, percent, ratio, time } from "../data/format";
import { compileOption, firstRows, sweepPoints } from "../data/networks";
import { numberColumn, TableView, type TableColumn } from "../ui/table";
import type { Section, View } from "../ui/view";
import { problemColumn, statusColumn } from "./columns";

interface Row {
  point: number;
  first: number; // the first row with a time, of the same sweep
}

function rowsOf(view: View): Row[] {
  const { data } = view,
    firsts = firstRows(data);
  return sweepPoints(data, view.points).map((point) => ({ point, first: firsts.get(data.experiment(point).uuid) ?? -1 }));
}

function columnsOf(view: View): TableColumn<Row>[] {
  const { data } = view,
    figure = (row: Row, name: string) => data.figures(row.point)[name] ?? NaN,
    compared = (row: Row) => row.first >= 0 && row.first !== row.point && data.counts(row.point),
    judged = (row: Row) => judgementOf(data, row.first, row.point);
  const resources = (point: number) => String(data.setting(point).extra.resources ?? "");
  const text = (name: string, width: string, of: (row: Row) => string): TableColumn<Row> => ({ name, width, text: of });
  return [
    problemColumn(data, "network", "minmax(12rem, 2fr)", (row) => row.point),
    text("platform", "minmax(8rem, 1fr)", (row) => data.platformText(row.point)),
    text("-O", "3rem", (row) => compileOption(data, row.point, "-O")),
    text("layout", "5.2rem", (row) => compileOption(data, row.point, "--layout")),
    text("target", "6rem", (row) => compileOption(data, row.point, "--target")),
    numberColumn("threads", "5rem", (row) => data.setting(row.point).threads, String),
    ...(view.points.some(resources) ? [text("resources", "minmax(8rem, 1fr)", (row) => resources(row.point))] : []),
    numberColumn("time", "6.2rem", (row) => data.time(row.point), time),
    numberColumn("speedup", "5.6rem", (row) => (compared(row) ? judged(row).ratio : NaN), ratio),
    numberColumn("95 % interval", "9.6rem", (row) => (compared(row) ? judged(row).low : NaN), (_low, row) => interval(judged(row))),
    numberColumn("compile", "5.4rem", (row) => data.number(row.point, "prepare_seconds"), time),
    numberColumn("package", "5.8rem", (row) => figure(row, "package_bytes"), bytes),
    numberColumn("of original", "6.4rem", (row) => figure(row, "package_bytes") / figure(row, "original_bytes"), (value) => value.toFixed(2)),
    numberColumn("conversions", "6.8rem", (row) => figure(row, "conversions"), String),
    numberColumn("references", "6.4rem", (row) => figure(row, "references"), String),
    numberColumn("top 1", "4.6rem", (row) => figure(row, "top1"), percent),
    numberColumn("agree", "4.6rem", (row) => figure(row, "agreeing"), percent),
    statusColumn(data, (row) => row.point),
  ];
}

export const sweeps: Section = {
  id: "sweeps",
  title: "Sweeps",
  note: "Rows of `lathe sweep`. The speedup is the time of the first row over the time of this one; `agree` is the share of pictures that both classify alike.",
  applies: (view) => sweepPoints(view.data, view.points).length > 0,
  mount(host, view) {
    const table = new TableView<Row>("Sweeps", columnsOf(view), (row) => view.open(row.point), 18);
    host.append(table.element);
    return () => table.show(rowsOf(view));
  },
};
