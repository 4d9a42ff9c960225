// What the report holds, in a few numbers.
import { count, date, percent, statusText } from "../data/format";
import { median } from "../data/statistics";
import { h, tile } from "../ui/dom";
import type { Section, View } from "../ui/view";

function tiles(view: View): HTMLElement[] {
  const { data, points } = view,
    { document } = data;
  const used = new Set<number>(),
    problems = new Set<number>(),
    statuses = new Map<string, number>();
  let timed = 0;
  const shares: number[] = [];
  const [experiment, problem, status, share] = [
    data.column("experiment"),
    data.column("problem"),
    data.column("status"),
    data.column("roofline_share"),
  ];
  for (const point of points) {
    used.add(experiment[point]);
    problems.add(problem[point]);
    const name = data.unchecked(point) ? "not verified" : document.texts[status[point]];
    statuses.set(name, (statuses.get(name) ?? 0) + 1);
    if (data.timed(point)) ++timed;
    if (share[point] > 0) shares.push(share[point]);
  }
  const others = [...statuses]
    .filter(([name]) => name !== "passed")
    .map(([name, number]) => `${number.toLocaleString("en")} ${statusText(name)}`);
  const dates = [...used].map((index) => document.experiments[index].started).sort();
  const shown = [
    tile(
      points.length.toLocaleString("en"),
      points.length === 1 ? "point" : "points",
      `${count(timed, "point")} with a time`,
    ),
    tile(problems.size.toLocaleString("en"), problems.size === 1 ? "problem" : "problems"),
    tile((statuses.get("passed") ?? 0).toLocaleString("en"), "passed", others.join(", ") || "nothing failed"),
    tile(
      used.size.toLocaleString("en"),
      used.size === 1 ? "experiment" : "experiments",
      (used.size < document.experiments.length ? `of ${document.experiments.length}: the others have no point here; ` : "") +
        (dates.length
        ? `${date(dates[0])}${dates.length > 1 && dates[dates.length - 1].slice(0, 10) !== dates[0].slice(0, 10) ? ` to ${date(dates[dates.length - 1])}` : ""}`
        : ""),
    ),
  ];
  const above = shares.filter((share) => share > 1).length;
  if (shares.length)
    shown.push(
      tile(
        percent(median(shares)),
        "median share of the roofline",
        `of ${count(shares.length, "point")} with known ceilings` +
          (above ? `; ${count(above, "point")} above 100 %: Winograd and other algorithms need fewer operations than are counted` : ""),
      ),
    );
  if (document.tuning.count)
    shown.push(
      tile(
        document.tuning.count.toLocaleString("en"),
        "tuning records",
        `of ${count(document.tuning.tasks.length, "task")}`,
      ),
    );
  return shown;
}

export const overview: Section = {
  id: "overview",
  title: "Overview",
  note: "",
  applies: () => true,
  mount(host, view) {
    const grid = host.appendChild(h("div", { class: "tiles" }));
    return () => grid.replaceChildren(...tiles(view));
  },
};
