// All points as a table.
import { digits, moment, percent } from "../data/format";
import { numberColumn, TableView, type TableColumn } from "../ui/table";
import type { Section, View } from "../ui/view";
import { platformColumn, problemColumn, settingColumn, statusColumn, timeColumns } from "./columns";

function columnsOf(view: View): TableColumn<number>[] {
  const { data } = view;
  const spread = (point: number) =>
    (data.number(point, "p75") - data.number(point, "p25")) / data.number(point, "median");
  return [
    problemColumn(data, "problem", "minmax(17rem, 3fr)", (point) => point),
    { name: "column", width: "minmax(9rem, 1.3fr)", text: (point) => data.columnText(point) },
    settingColumn(data, "minmax(8rem, 1fr)"),
    platformColumn(data),
    ...timeColumns(data),
    numberColumn("quartiles / median", "10.8rem", spread, percent),
    numberColumn("GFLOPS", "5.6rem", (point) => data.gflops(point), (value) => digits(value), "GFLOPS"),
    numberColumn("GB/s", "5rem", (point) => data.gigabytesPerSecond(point), (value) => digits(value), "GB/s"),
    numberColumn("of roofline", "6.4rem", (point) => data.number(point, "roofline_share"), percent),
    statusColumn(data, (point) => point),
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
