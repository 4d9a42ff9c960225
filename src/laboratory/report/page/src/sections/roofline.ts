// Points beside the ceilings of their machine.
import { peaksText, roofline as plot, rooflinePoints, type RooflinePoints } from "../charts/roofline";
import { date } from "../data/format";
import { ChartView } from "../ui/chart";
import { choice, h } from "../ui/dom";
import type { Section, View } from "../ui/view";

interface Machine {
  platform: number;
  threads: number;
}

const nameOf = (machine: Machine): string => `${machine.platform} ${machine.threads}`;

/** Platforms with numbers of threads, where points have operations and bytes. */
export function machines(view: View): Machine[] {
  const { data } = view,
    { settings } = data.document,
    [experiment, setting] = [data.column("experiment"), data.column("setting")],
    seen = new Set<number>(), // pairs of experiment and setting
    found = new Map<string, Machine>();
  for (const point of view.points) {
    const pair = experiment[point] * settings.length + setting[point];
    if (seen.has(pair)) continue;
    const { flops, bytes } = data.problem(point);
    if (!(flops > 0 && bytes > 0) || !data.timed(point)) continue;
    seen.add(pair);
    const machine = { platform: data.experiment(point).platform, threads: data.setting(point).threads };
    found.set(nameOf(machine), machine);
  }
  return [...found.values()].sort((a, b) => a.platform - b.platform || a.threads - b.threads);
}

/** The points of a machine. */
export function pointsOf(view: View, machine: Machine): RooflinePoints {
  const { data } = view;
  const points = view.points.filter(
    (point) =>
      data.experiment(point).platform === machine.platform &&
      data.setting(point).threads === machine.threads &&
      data.timed(point),
  );
  return rooflinePoints(data, points, machine.threads, view.colours);
}

export const roofline: Section = {
  id: "roofline",
  title: "Roofline",
  note: "Speed over operations per byte of compulsory traffic. Solid lines are arithmetic peaks, dashed lines bandwidths (mean of reading and copying), as `lathe machine` measured them.",
  applies: (view) => view.data.document.problems.some((problem) => problem.flops > 0 && problem.bytes > 0),
  mount(host, view) {
    const { document } = view.data;
    let chosen = "",
      list: Machine[] = [],
      shown: RooflinePoints | undefined; // kept for other colours and widths
    const place = h("div", { class: "controls" }),
      state = h("p", { class: "state" });
    const machineOf = () => list.find((machine) => nameOf(machine) === chosen);
    const chart = new ChartView(view, "Roofline", (width) => {
      const machine = machineOf();
      if (machine) shown ??= pointsOf(view, machine);
      return shown ? plot(view.data, shown, view.colours, view.look(width)) : null;
    });
    const draw = () => {
      const machine = machineOf(),
        ceilings = machine && document.platforms[machine.platform].ceilings;
      state.textContent = !machine
        ? "No timed point whose operations and bytes are known."
        : ceilings
          ? `Ceilings measured ${date(ceilings.measured)}. ${peaksText(view.data, (shown = pointsOf(view, machine)))}`
          : "The ceilings of this platform are not known: lathe report shows those of the machine that it runs on.";
      if (!ceilings) shown = undefined;
      chart.draw();
    };
    host.append(place, chart.element, state);
    return () => {
      list = machines(view);
      if (!machineOf()) chosen = list.length ? nameOf(list[0]) : "";
      const options = list.map((machine): [string, string] => [
        nameOf(machine),
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
