// Points without a trusted time, and why; and those whose outputs nobody has verified.
import { h } from "../ui/dom";
import { TableView } from "../ui/table";
import type { Section, View } from "../ui/view";
import { platformColumn, problemColumn, statusColumn } from "./columns";

const bad = new Set(["failed", "mistrusted", "crashed", "timed_out", "memory_exceeded"]);

/** A table of the points of `view` that `accepts` takes. */
function reasons(host: HTMLElement, view: View, title: string, accepts: (point: number) => boolean): () => void {
  const { data } = view,
    none = h("p", { class: "state" }, "None.");
  const table = new TableView<number>(
    title,
    [
      statusColumn(data, (point) => point),
      problemColumn(data, "problem", "minmax(15rem, 2fr)", (point) => point),
      { name: "column", width: "minmax(9rem, 1fr)", text: (point) => data.columnText(point) },
      { name: "setting", width: "minmax(8rem, 1fr)", text: (point) => data.conditionText(point) },
      platformColumn(data),
      { name: "reason", width: "minmax(16rem, 3fr)", text: (point) => data.text(point, "reason") },
    ],
    (point) => view.open(point),
    8,
  );
  host.append(none, table.element);
  return () => {
    const rows = view.points.filter(accepts);
    none.hidden = rows.length > 0;
    table.element.hidden = !rows.length;
    table.show(rows);
  };
}

export const failures: Section = {
  id: "failures",
  title: "Failures",
  note: "Points that failed, crashed, hung or are mistrusted, with the reason. A point that was declined (unimplemented) is no failure.",
  applies: (view) => view.data.count > 0,
  mount: (host, view) =>
    reasons(host, view, "Failures", (point) => bad.has(view.data.text(point, "status")) && !view.data.unchecked(point)),
};

export const unverified: Section = {
  id: "unverified",
  title: "Not verified",
  note: "Points whose outputs nobody has compared with the reference, such as those of `lathe bench` before `lathe verify`. Their times are shown, and are compared with nothing.",
  applies: ({ data }) =>
    data.document.texts.some((text) => text.startsWith("unverified")) &&
    data.column("reason").some((_reason, point) => data.unchecked(point)),
  mount: (host, view) => reasons(host, view, "Not verified", (point) => view.data.unchecked(point)),
};
