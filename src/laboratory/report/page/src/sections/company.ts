// Slow-downs of problems beside other problems.
import { company as plot } from "../charts/company";
import { companyMatrices, companyTitle, slowDownsOf, type CompanyMatrix, type SlowDown } from "../data/company";
import { interval, problemTitle, ratio, time } from "../data/format";
import { ChartView } from "../ui/chart";
import { Pick } from "../ui/pick";
import { numberColumn, TableView } from "../ui/table";
import type { Section } from "../ui/view";
import { problemColumn } from "./columns";

export const company: Section = {
  id: "company",
  title: "Company",
  note: "The time of a problem beside another one, divided by its time alone on the same CPUs in the same experiment. Both took turns.",
  applies: (view) => slowDownsOf(view.data, view.points).length > 0,
  mount(host, view) {
    const { data } = view;
    const pick: Pick<CompanyMatrix> = new Pick(
      "Column",
      (matrix) => matrix.name,
      () => chart.draw(),
    );
    const chart = new ChartView(view, "Slow-downs by company", (width) =>
      pick.current ? plot(data, pick.current, view.look(width)) : null,
    );
    const table = new TableView<SlowDown>(
      "Slow-downs",
      [
        problemColumn(data, "problem", "minmax(14rem, 2fr)", (row) => row.point),
        { name: "column", width: "minmax(8rem, 1fr)", text: (row) => data.placedText(row.alone) },
        { name: "beside", width: "minmax(14rem, 2fr)", text: (row) => companyTitle(data, row.point, problemTitle) },
        numberColumn("alone", "6.2rem", (row) => data.time(row.alone), time),
        numberColumn("in company", "6.6rem", (row) => data.time(row.point), time),
        numberColumn("ratio", "5.4rem", (row) => row.judged.ratio, ratio),
        numberColumn("95 % interval", "9.6rem", (row) => row.judged.low, (_low, row) => interval(row.judged)),
        numberColumn("companion's runs/s", "9rem", (row) => data.figures(row.point).companion_rate ?? NaN, (value) =>
          Number.isFinite(value) ? Math.round(value).toLocaleString("en") : "",
        ),
      ],
      (row) => view.open(row.point),
    );
    host.append(pick.element, chart.element, table.element);
    return () => {
      pick.show(companyMatrices(data, view.points, problemTitle));
      table.show(slowDownsOf(data, view.points));
    };
  },
};
