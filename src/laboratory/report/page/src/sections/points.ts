// All points as a table.
import { digits, moment, percent, problemTitle } from "../data/format";
import { TableView, type TableColumn } from "../ui/table";
import type { Section, View } from "../ui/view";
import { platformColumn, settingColumn, statusColumn, timeColumns } from "./columns";

function columnsOf(view: View): TableColumn<number>[] {
  const { data } = view;
  const spread = (point: number) =>
    (data.number(point, "p75") - data.number(point, "p25")) / data.number(point, "median");
  return [
    {
      name: "problem",
      width: "minmax(17rem, 3fr)",
      text: (point) => problemTitle(data.problem(point).text),
      full: (point) => data.problem(point).text,
      value: (point) => data.problem(point).text,
    },
    { name: "column", width: "minmax(9rem, 1.3fr)", text: (point) => data.columnText(point) },
    settingColumn(data, "minmax(8rem, 1fr)"),
    platformColumn(data),
    ...timeColumns(data),
    {
      name: "quartiles / median",
      width: "10.8rem",
      numeric: true,
      text: (point) => percent(spread(point)),
      value: spread,
    },
    {
      name: "GFLOPS",
      width: "5.6rem",
      numeric: true,
      unit: "GFLOPS",
      text: (point) => digits(data.gflops(point)),
      value: (point) => data.gflops(point),
    },
    {
      name: "GB/s",
      width: "5rem",
      numeric: true,
      unit: "GB/s",
      text: (point) => digits(data.gigabytesPerSecond(point)),
      value: (point) => data.gigabytesPerSecond(point),
    },
    {
      name: "of roofline",
      width: "6.4rem",
      numeric: true,
      text: (point) => percent(data.number(point, "roofline_share")),
      value: (point) => data.number(point, "roofline_share"),
    },
    statusColumn(data),
    { name: "schedule", width: "minmax(10rem, 1.4fr)", text: (point) => data.scheduleText(point) },
    { name: "kind", width: "6rem", text: (point) => data.experiment(point).kind },
    {
      name: "measured",
      width: "10.5rem",
      text: (point) => moment(data.text(point, "measured")),
    },
  ];
}

export const points: Section = {
  id: "points",
  title: "Points",
  note: "Every measured point. A header sorts, a row shows raw samples and the command that measures it again.",
  applies: (view) => view.data.count > 0,
  mount(host, view) {
    const table = new TableView<number>("Points", columnsOf(view), (point) => view.open(point));
    host.append(table.element);
    return () => table.show(view.points);
  },
};
