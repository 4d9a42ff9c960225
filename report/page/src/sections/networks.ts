// Whole networks: times, sizes of a sweep, figures of evaluations and quantisations, sums of operators.
import { confusion as plot } from "../charts/confusion";
import { count, digits, percent, problemTitle, statusText, time } from "../data/format";
import { confusionOf, figuresText, isSweep, networkPoints, type Confusion } from "../data/networks";
import type { Estimate } from "../data/schema";
import { ChartView } from "../ui/chart";
import { choice, h } from "../ui/dom";
import { TableView, type TableColumn } from "../ui/table";
import type { Section, View } from "../ui/view";
import { statusClass } from "./points";

function networkColumns(view: View): TableColumn<number>[] {
  const { data } = view,
    of = (name: Parameters<typeof data.number>[1]) => (point: number) => data.number(point, name);
  return [
    {
      name: "network",
      width: "minmax(17rem, 2fr)",
      text: (point) => problemTitle(data.problem(point).text),
      full: (point) => data.problem(point).text,
    },
    { name: "kind", width: "6rem", text: (point) => (isSweep(data, point) ? "sweep" : data.experiment(point).kind) },
    { name: "runtime", width: "minmax(7rem, 1fr)", text: (point) => data.columnText(point) },
    {
      name: "setting",
      width: "minmax(10rem, 1.6fr)",
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
      name: "relative L2",
      width: "6.5rem",
      numeric: true,
      text: (point) =>
        Number.isFinite(data.number(point, "relative_l2")) ? data.number(point, "relative_l2").toExponential(2) : "",
      value: of("relative_l2"),
    },
    {
      name: "figures",
      width: "minmax(12rem, 1.6fr)",
      text: (point) => figuresText(data.figures(point), (value) => digits(value)),
    },
    {
      name: "status",
      width: "8rem",
      text: (point) => statusText(data.text(point, "status")),
      badge: (point) => statusClass(data.text(point, "status")),
    },
    { name: "target", width: "minmax(8rem, 1fr)", text: (point) => data.text(point, "implementation") },
  ];
}

export const networks: Section = {
  id: "networks",
  title: "Networks",
  note: "Whole networks as `lathe bench`, `compare`, `sweep`, `evaluate` and `quantize` measured them.",
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
    let found: Confusion[] = [],
      chosen = 0;
    const place = h("div", { class: "controls" }),
      state = h("p", { class: "state" }),
      current = () => found[Math.min(chosen, found.length - 1)];
    const chart = new ChartView(view, "Confusion matrix", (width) =>
      current() ? plot(current(), view.look(width)) : null,
    );
    const draw = () => {
      const figures = current() ? view.data.figures(current().point) : {};
      state.textContent = current()
        ? `${count(figures.pictures, "picture")}, top 1 ${percent(figures.top1)}, top 5 ${percent(figures.top5)}.`
        : "No evaluation is shown.";
      chart.draw();
    };
    host.append(place, state, chart.element);
    return () => {
      found = view.points.flatMap((point) => confusionOf(view.data, point) ?? []);
      place.replaceChildren(
        choice(
          "Evaluation",
          found.map((matrix, index): [string, string] => [
            String(index),
            `${problemTitle(view.data.problem(matrix.point).text)} — ${view.data.settingText(matrix.point)}`,
          ]),
          String(chosen),
          (value) => {
            chosen = Number(value);
            draw();
          },
        ),
      );
      place.hidden = found.length < 2;
      draw();
    };
  },
};

export const estimates: Section = {
  id: "estimates",
  title: "Estimate",
  note: "The sum of count × best time over the operators of a network, beside the measured time of the whole. Without a time for every operator the sum is a lower bound.",
  applies: (view) => view.data.document.estimates.length > 0,
  mount(host, view) {
    const ms = (value: number | undefined | null) => (typeof value === "number" ? time(value * 1e-3) : "");
    const table = new TableView<Estimate>(
      "Estimates",
      [
        { name: "network", width: "minmax(12rem, 1fr)", text: (row) => row.network },
        { name: "setting", width: "minmax(16rem, 2fr)", text: (row) => row.context },
        { name: "provider", width: "minmax(8rem, 1fr)", text: (row) => row.provider || "(fastest of all)" },
        {
          name: "operators",
          width: "6rem",
          numeric: true,
          text: (row) => String(row.operators),
          value: (row) => row.operators,
        },
        {
          name: "without a time",
          width: "7rem",
          numeric: true,
          text: (row) => String(row.missing.length || ""),
          value: (row) => row.missing.length,
        },
        {
          name: "sum",
          width: "6.5rem",
          numeric: true,
          text: (row) => ms(row.estimate_ms),
          value: (row) => row.estimate_ms,
        },
        {
          name: "measured",
          width: "6.5rem",
          numeric: true,
          text: (row) => ms(row.measured_ms),
          value: (row) => row.measured_ms ?? NaN,
        },
        {
          name: "difference",
          width: "6.5rem",
          numeric: true,
          text: (row) => (typeof row.difference === "number" ? percent(row.difference) : ""),
          value: (row) => row.difference ?? NaN,
        },
      ],
      undefined,
      10,
    );
    host.append(table.element);
    return () => table.show(view.data.document.estimates);
  },
};
