// All points as a table.
import { digits, notVerified, percent, problemTitle, statusText, time } from "../data/format";
import { TableView, type TableColumn } from "../ui/table";
import type { Section, View } from "../ui/view";

export function statusClass(status: string): string {
  return status === "passed"
    ? "good"
    : status === "unimplemented" || status === "same_as"
      ? "quiet"
      : status === "mistrusted" || status === notVerified
        ? "warn"
        : "bad";
}

function columnsOf(view: View): TableColumn<number>[] {
  const { data } = view,
    of = (name: Parameters<typeof data.number>[1]) => (point: number) => data.number(point, name);
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
    {
      name: "setting",
      width: "minmax(8rem, 1fr)",
      text: (point) => data.settingText(point),
      full: (point) => data.setting(point).text,
    },
    {
      name: "median",
      width: "6.2rem",
      numeric: true,
      text: (point) => time(data.number(point, "median")),
      value: of("median"),
    },
    {
      name: "95 % interval",
      width: "11rem",
      numeric: true,
      value: (point) => data.number(point, "high") - data.number(point, "low"),
      text: (point) =>
        data.timed(point) ? `${time(data.number(point, "low"))} – ${time(data.number(point, "high"))}` : "",
    },
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
      text: (point) => digits(data.gflops(point)),
      value: (point) => data.gflops(point),
    },
    {
      name: "GB/s",
      width: "5rem",
      numeric: true,
      text: (point) => digits(data.gigabytesPerSecond(point)),
      value: (point) => data.gigabytesPerSecond(point),
    },
    {
      name: "of roofline",
      width: "6.4rem",
      numeric: true,
      text: (point) => percent(data.number(point, "roofline_share")),
      value: of("roofline_share"),
    },
    {
      name: "status",
      width: "9.5rem",
      text: (point) => statusText(data.text(point, "status")),
      badge: (point) => statusClass(data.text(point, "status")),
    },
    { name: "schedule", width: "minmax(10rem, 1.4fr)", text: (point) => data.scheduleText(point) },
    { name: "kind", width: "6rem", text: (point) => data.experiment(point).kind },
    {
      name: "measured",
      width: "10.5rem",
      text: (point) => data.text(point, "measured").slice(0, 19).replace("T", " "),
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
