// Whole networks: times, sizes of a sweep, figures of evaluations and quantisations, sums of operators.
import { confusion as plot } from "../charts/confusion";
import { count, percent, problemTitle, time } from "../data/format";
import { confusionOf, figuresText, networkPoints, type Confusion } from "../data/networks";
import type { Estimate } from "../data/schema";
import { ChartView } from "../ui/chart";
import { h } from "../ui/dom";
import { Pick } from "../ui/pick";
import { numberColumn, TableView, type TableColumn } from "../ui/table";
import type { Section, View } from "../ui/view";
import { platformColumn, problemColumn, settingColumn, statusColumn, timeColumns } from "./columns";

function networkColumns(view: View): TableColumn<number>[] {
  const { data } = view;
  return [
    problemColumn(data, "network", "minmax(17rem, 2fr)", (point) => point),
    { name: "kind", width: "6rem", text: (point) => data.experiment(point).kind },
    { name: "runtime", width: "minmax(7rem, 1fr)", text: (point) => data.columnText(point) },
    settingColumn(data, "minmax(13rem, 1.8fr)"),
    platformColumn(data),
    ...timeColumns(data),
    numberColumn("relative L2", "6.5rem", (point) => data.number(point, "relative_l2"), (value) => value.toExponential(2)),
    { name: "figures", width: "minmax(12rem, 1.6fr)", text: (point) => figuresText(data.figures(point)) },
    statusColumn(data, (point) => point),
    { name: "target", width: "minmax(8rem, 1fr)", text: (point) => data.text(point, "implementation") },
  ];
}

export const networks: Section = {
  id: "networks",
  title: "Networks",
  note: "Whole networks as `lathe bench`, `compare`, `evaluate` and `quantize` measured them.",
  applies: (view) => networkPoints(view.data, view.points).length > 0,
  mount(host, view) {
    const table = new TableView<number>("Networks", networkColumns(view), (point) => view.open(point), 12);
    host.append(table.element);
    return () => table.show(networkPoints(view.data, view.points));
  },
};

export const confusions: Section = {
  id: "confusion",
  title: "Confusion",
  note: "Classes of the pictures down, decisions of the network across; the colour is the share of the class.",
  applies: (view) => view.points.some((point) => confusionOf(view.data, point)),
  mount(host, view) {
    const state = h("p", { class: "state" });
    const pick: Pick<Confusion> = new Pick(
      "Evaluation",
      ({ point }) => `${problemTitle(view.data.problem(point).text)} — ${view.data.settingText(point)}${view.data.onPlatform(point)}`,
      () => {
        const figures = pick.current ? view.data.figures(pick.current.point) : {};
        state.textContent = pick.current
          ? `${count(figures.pictures, "picture")}, top 1 ${percent(figures.top1)}, top 5 ${percent(figures.top5)}.`
          : "No evaluation is shown.";
        chart.draw();
      },
    );
    const chart = new ChartView(view, "Confusion matrix", (width) =>
      pick.current ? plot(pick.current, view.look(width)) : null,
    );
    host.append(pick.element, state, chart.element);
    return () => pick.show(view.points.flatMap((point) => confusionOf(view.data, point) ?? []));
  },
};

export const estimates: Section = {
  id: "estimates",
  title: "Estimate",
  note: "The sum of count × best time over the operators of a network, beside the measured time of the whole. Without a time for every operator the sum is a lower bound.",
  applies: (view) => view.data.document.estimates.length > 0,
  mount(host, view) {
    const ms = (value: number) => time(value * 1e-3);
    const table = new TableView<Estimate>(
      "Estimates",
      [
        { name: "network", width: "minmax(12rem, 1fr)", text: (row) => row.network },
        { name: "setting", width: "minmax(16rem, 2fr)", text: (row) => row.context },
        { name: "provider", width: "minmax(8rem, 1fr)", text: (row) => row.provider || "(fastest of all)" },
        numberColumn("operators", "6rem", (row) => row.operators, String),
        numberColumn("without a time", "7rem", (row) => row.missing.length, (missing) => String(missing || "")),
        numberColumn("sum", "6.5rem", (row) => row.estimate_ms, ms),
        numberColumn("measured", "6.5rem", (row) => row.measured_ms ?? NaN, ms),
        numberColumn("difference", "6.5rem", (row) => row.difference ?? NaN, percent),
      ],
      undefined,
      10,
    );
    host.append(table.element);
    return () => table.show(view.data.document.estimates);
  },
};
