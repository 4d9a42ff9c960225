// The kernels of a profiled run as a graph.
import { kernelGraph } from "../charts/graph";
import { count } from "../data/format";
import { graphOf, type Graph } from "../data/graph";
import { profilesOf, type Profile } from "../data/profiles";
import { ChartView } from "../ui/chart";
import { h } from "../ui/dom";
import { Pick } from "../ui/pick";
import type { Section, View } from "../ui/view";

/** Profiled runs with their graphs. */
export function graphsOf(view: View): { run: Profile; graph: Graph }[] {
  return profilesOf(view.data, view.points).flatMap((run) => {
    const graph = graphOf(view.data, run);
    return graph ? [{ run, graph }] : [];
  });
}

export const graph: Section = {
  id: "graph",
  title: "Graph",
  note: "Kernels of a profiled run with the values between them; constants are left out. A box has the operators that the kernel computes, its time, and the shape and layout of what it writes. Drag to move; Ctrl and the wheel, + and - zoom, 0 shows everything.",
  applies: (view) =>
    view.data.document.experiments.some((experiment) => experiment.kind === "profile" && experiment.detail?.graph) &&
    view.data.count > 0,
  mount(host, view) {
    const state = h("p", { class: "state" });
    const pick: Pick<{ run: Profile; graph: Graph }> = new Pick(
      "Run",
      ({ run }) => run.name,
      () => {
        const shown = pick.current,
          values = new Set(shown?.graph.edges.map((edge) => edge.value).filter(Boolean));
        const inside = [...values].filter((value) => value?.inside).length;
        state.textContent = shown
          ? `${count(shown.graph.nodes.filter((node) => node.kernel).length, "kernel")}, ${count(values.size, "value")} between them, ${inside.toLocaleString("en")} in place.` +
            (shown.graph.implied ? ` ${count(shown.graph.implied, "edge")} that others imply are left out.` : "")
          : "No profile is shown.";
        chart.draw();
      },
    );
    const chart = new ChartView(view, "Graph of kernels", (width) =>
      pick.current ? kernelGraph(pick.current.graph, pick.current.run.seconds, view.look(width)) : null,
    );
    host.append(pick.element, state, chart.element);
    return () => pick.show(graphsOf(view));
  },
};
