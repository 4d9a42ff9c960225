// The fastest column of each cell.
import { cellsOf, fastest, judgementOf, type Cell } from "../data/cells";
import { digits, interval, ratio, time, verdictText } from "../data/format";
import { h } from "../ui/dom";
import { numberColumn, TableView } from "../ui/table";
import type { Section, View } from "../ui/view";
import { problemColumn } from "./columns";

interface Best {
  cell: Cell;
  point: number;
  next: number; // -1: alone
}

export function bestOf(view: View): Best[] {
  const { data } = view;
  return cellsOf(
    data,
    view.points.filter((point) => data.problem(point).operator !== "kernel"),
  ).flatMap((cell) => {
    const point = fastest(data, cell.points);
    return point < 0 ? [] : [{ cell, point, next: fastest(data, cell.points, (other) => other !== point) }];
  });
}

export const best: Section = {
  id: "best",
  title: "Fastest",
  note: "The fastest column of each problem and setting, and by how much it leads the next one.",
  applies: (view) => view.data.count > 0,
  mount(host, view) {
    const { data } = view,
      lead = (row: Best) => (row.next < 0 ? NaN : data.time(row.next) / data.time(row.point)),
      judged = (row: Best) => judgementOf(data, row.next, row.point);
    const wins = h("p", { class: "wins" });
    const table = new TableView<Best>(
      "Fastest columns",
      [
        problemColumn(data, "problem", "minmax(15rem, 3fr)", (row) => row.point),
        { name: "setting", width: "minmax(9.5rem, 1fr)", text: (row) => data.conditionText(row.point) },
        { name: "platform", width: "minmax(8rem, 1fr)", text: (row) => data.platformText(row.point) },
        { name: "fastest", width: "minmax(8.5rem, 1.2fr)", text: (row) => data.columnText(row.point) },
        numberColumn("time", "6.2rem", (row) => data.time(row.point), time),
        numberColumn("GFLOPS", "5.6rem", (row) => data.gflops(row.point), (value) => digits(value), "GFLOPS"),
        { name: "next", width: "minmax(8.5rem, 1.2fr)", text: (row) => (row.next < 0 ? "" : data.columnText(row.next)) },
        numberColumn("next / fastest", "8.2rem", lead, (_lead, row) => ratio(judged(row).ratio)),
        {
          name: "verdict",
          width: "14.5rem",
          text: (row) => (row.next < 0 ? "alone" : verdictText(judged(row))),
          badge: (row) => (row.next < 0 ? "quiet" : judged(row).verdict === "faster" ? "good" : "quiet"),
        },
        numberColumn("95 % interval", "9.6rem", lead, (_lead, row) => interval(judged(row))),
        { name: "schedule", width: "minmax(10rem, 1.4fr)", text: (row) => data.scheduleText(row.point) },
      ],
      (row) => view.open(row.point),
    );
    host.append(wins, table.element);
    return () => {
      const rows = bestOf(view),
        counts = new Map<string, number>();
      for (const { next, point } of rows) {
        const name = data.columnText(point) + data.onPlatform(point);
        if (next >= 0) counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      const sorted = [...counts].sort((a, b) => b[1] - a[1]);
      wins.textContent = sorted.length
        ? `Fastest most often: ${sorted
            .slice(0, 6)
            .map(([column, times]) => `${column} ${times.toLocaleString("en")}×`)
            .join(", ")}.`
        : "";
      table.show(rows);
    };
  },
};
