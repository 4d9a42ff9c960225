// Points beside the ceilings of their machine.
import { roofline as plot } from "../charts/roofline";
import { digits } from "../data/format";
import { ChartView } from "../ui/chart";
import { choice, h } from "../ui/dom";
import type { Section, View } from "../ui/view";

interface Machine {
  platform: number;
  threads: number;
}

/** Platforms with numbers of threads, where points have operations and bytes. */
export function machines(view: View): Machine[] {
  const { data } = view,
    found = new Map<string, Machine>();
  for (const point of view.points) {
    const { flops, bytes } = data.problem(point);
    if (!(flops > 0 && bytes > 0) || !data.timed(point)) continue;
    const machine = { platform: data.experiment(point).platform, threads: data.setting(point).threads };
    found.set(`${machine.platform} ${machine.threads}`, machine);
  }
  return [...found.values()].sort((a, b) => a.platform - b.platform || a.threads - b.threads);
}

export function rooflinePoints(view: View, machine: Machine): number[] {
  const { data } = view;
  return view.points.filter(
    (point) =>
      data.experiment(point).platform === machine.platform &&
      data.setting(point).threads === machine.threads &&
      data.timed(point),
  );
}

export const roofline: Section = {
  id: "roofline",
  title: "Roofline",
  note: "Speed over operations per byte of compulsory traffic. Solid lines are arithmetic peaks, dashed lines bandwidths (mean of reading and copying), as `lathe machine` measured them.",
  applies: (view) => view.data.document.problems.some((problem) => problem.flops > 0 && problem.bytes > 0),
  mount(host, view) {
    const { document } = view.data;
    let chosen = "";
    const place = h("div", { class: "controls" }),
      state = h("p", { class: "state" });
    const machineOf = () => machines(view).find((machine) => `${machine.platform} ${machine.threads}` === chosen);
    const chart = new ChartView(view, "Roofline", (width) => {
      const machine = machineOf();
      return machine
        ? plot(view.data, rooflinePoints(view, machine), machine.threads, view.colours, view.look(width))
        : null;
    });
    const draw = () => {
      const machine = machineOf(),
        ceilings = machine && document.platforms[machine.platform].ceilings;
      state.textContent = !machine
        ? "No timed point whose operations and bytes are known."
        : ceilings
          ? `Ceilings measured ${ceilings.measured}, ${digits(Math.max(...ceilings.arithmetic.map((a) => a.gflops[Math.min(machine.threads, a.gflops.length) - 1])), 4)} GFLOPS at most.`
          : "The ceilings of this platform are not known: `lathe report` shows those of the machine that it runs on.";
      chart.draw();
    };
    host.append(place, chart.element, state);
    return () => {
      const list = machines(view);
      if (!machineOf()) chosen = list.length ? `${list[0].platform} ${list[0].threads}` : "";
      const options = list.map((machine): [string, string] => [
        `${machine.platform} ${machine.threads}`,
        `${document.platforms[machine.platform].name}, ${machine.threads} thread${machine.threads === 1 ? "" : "s"}`,
      ]);
      place.replaceChildren(
        choice("Machine", options, chosen, (value) => {
          chosen = value;
          draw();
        }),
      );
      place.hidden = list.length < 2;
      draw();
    };
  },
};
