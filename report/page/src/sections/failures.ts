// Points without a trusted time, and why.
import { problemTitle } from "../data/format";
import { h } from "../ui/dom";
import { TableView } from "../ui/table";
import type { Section } from "../ui/view";
import { statusColumn } from "./columns";

const bad = new Set(["failed", "mistrusted", "crashed", "timed_out", "memory_exceeded"]);

export const failures: Section = {
  id: "failures",
  title: "Failures",
  note: "Points that failed, crashed, hung or are mistrusted, with the reason. A point that was declined (unimplemented) is no failure.",
  applies: (view) => view.data.count > 0,
  mount(host, view) {
    const { data } = view,
      none = h("p", { class: "state" }, "None.");
    const table = new TableView<number>(
      "Failures",
      [
        statusColumn(data),
        {
          name: "problem",
          width: "minmax(15rem, 2fr)",
          text: (point) => problemTitle(data.problem(point).text),
          full: (point) => data.problem(point).text,
        },
        { name: "column", width: "minmax(9rem, 1fr)", text: (point) => data.columnText(point) },
        { name: "setting", width: "minmax(8rem, 1fr)", text: (point) => data.contextText(point) },
        { name: "reason", width: "minmax(16rem, 3fr)", text: (point) => data.text(point, "reason") },
      ],
      (point) => view.open(point),
      8,
    );
    host.append(none, table.element);
    return () => {
      const rows = view.points.filter((point) => bad.has(data.text(point, "status")));
      none.hidden = rows.length > 0;
      table.element.hidden = !rows.length;
      table.show(rows);
    };
  },
};
