// Where the time of a profiled run goes.
import { predictions, sortedKernels, timeline } from "../charts/profile";
import { count, digits, percent, time } from "../data/format";
import { familiesOf, profilesOf, type Kernel, type Profile } from "../data/profiles";
import { ChartView } from "../ui/chart";
import { h } from "../ui/dom";
import { Pick } from "../ui/pick";
import { numberColumn, TableView } from "../ui/table";
import type { Section, View } from "../ui/view";

function kernelTable(view: View, whole: () => number): TableView<Kernel> {
  return new TableView<Kernel>(
    "Kernels",
    [
      numberColumn("#", "3.2rem", (kernel) => kernel.index, String),
      { name: "kernel", width: "minmax(12rem, 1fr)", text: (kernel) => kernel.name },
      { name: "nodes", width: "minmax(14rem, 2fr)", text: (kernel) => kernel.nodes.join(", ") },
      { name: "family", width: "8rem", text: (kernel) => kernel.family || kernel.kind },
      numberColumn("mean", "6.2rem", (kernel) => kernel.seconds, time),
      numberColumn("least to largest", "11rem", (kernel) => kernel.most - kernel.least, (_range, kernel) => `${time(kernel.least)} – ${time(kernel.most)}`),
      numberColumn("share", "5rem", (kernel) => kernel.seconds / whole(), percent),
      numberColumn("GFLOPS", "5.6rem", (kernel) => (kernel.flops ? (kernel.flops * 1e-9) / kernel.seconds : NaN), (value) => digits(value), "GFLOPS"),
      numberColumn("predicted", "6rem", (kernel) => kernel.predicted, time),
      { name: "schedule", width: "minmax(14rem, 2fr)", text: (kernel) => kernel.schedule },
    ],
    (kernel) => view.open(kernel.point),
    12,
  );
}

export const profile: Section = {
  id: "profile",
  title: "Profile",
  note: "Kernels of a profiled run; times are means over the fastest quarter of the runs. Below: the kernels sorted by time, and the time that the cost model predicted beside the measured one.",
  applies: (view) =>
    view.data.document.experiments.some((experiment) => experiment.kind === "profile") && view.data.count > 0,
  mount(host, view) {
    const pick: Pick<Profile> = new Pick(
      "Run",
      (run) => run.name,
      () => draw(),
    );
    const current = () => pick.current!;
    const families = () => familiesOf(current().kernels);
    const line = new ChartView(view, "Timeline of kernels", (width) =>
      pick.current ? timeline(current().kernels, current().seconds, families(), view.look(width)) : null,
    );
    const bars = new ChartView(view, "Kernels by time", (width) =>
      pick.current ? sortedKernels(current().kernels, current().seconds, families(), 25, view.look(width)) : null,
    );
    const dots = new ChartView(view, "Predicted over measured time", (width) =>
      pick.current?.kernels.some((kernel) => kernel.predicted > 0)
        ? predictions(current().kernels, families(), view.look(width))
        : null,
    );
    const predicted = h("h3", {}, "Predicted against measured"),
      table = kernelTable(view, () => current().seconds),
      state = h("p", { class: "state" });
    const draw = () => {
      const run = pick.current,
        between = run ? run.seconds - run.kernels.reduce((sum, kernel) => sum + kernel.seconds, 0) : 0;
      state.textContent = run
        ? `${time(run.seconds)} a run, mean of ${count(run.runs, "run")}; ${count(run.kernels.length, "kernel")}, ${time(between)} between them.`
        : "No profile is shown.";
      predicted.hidden = !run?.kernels.some((kernel) => kernel.predicted > 0);
      for (const chart of [line, bars, dots]) chart.draw();
      table.show(run?.kernels ?? []);
    };
    host.append(
      pick.element,
      state,
      h("h3", {}, "Timeline"),
      line.element,
      h("h3", {}, "Longest kernels"),
      bars.element,
      predicted,
      dots.element,
      h("h3", {}, "All kernels"),
      table.element,
    );
    return () => pick.show(profilesOf(view.data, view.points));
  },
};
