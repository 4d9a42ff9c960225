// Speedups over a baseline that the reader chooses.
import { speedups as plot } from "../charts/speedups";
import { atPlatform, cellsAcrossPlatforms, cellsOf, judgementOf, matches, platformOf, speedupsOver, type Speedup } from "../data/cells";
import type { Dataset } from "../data/dataset";
import { interval, notVerified, ratio, statusText } from "../data/format";
import { geometricMean } from "../data/statistics";
import { ChartView } from "../ui/chart";
import { choice, h, Pager } from "../ui/dom";
import { numberColumn, TableView } from "../ui/table";
import type { Section, View } from "../ui/view";
import { idle, setBusy } from "../ui/work";

interface Mean {
  column: string;
  setting: string;
  platform: string; // "" where there is one
  problems: number;
  mean: ReturnType<typeof geometricMean>;
}

const comparable = (view: View) =>
  view.points.filter((point) => !["kernel"].includes(view.data.problem(point).operator));

/**
 * The column that most cells have, but none of ours: ours are what is judged. What is not verified here is taken only
 * where there is nothing else, and its name says so.
 */
export function usualBaseline(data: Dataset, points: number[]): string {
  if (data.document.baseline) return data.document.baseline;
  const counts = new Map<string, number>();
  for (const point of points)
    if (data.counts(point)) counts.set(data.columnText(point), (counts.get(data.columnText(point)) ?? 0) + 1);
  const all = [...counts].sort((a, b) => b[1] - a[1]),
    verified = all.filter(([column]) => !data.unverified.has(column)),
    sorted = verified.length ? verified : all;
  return (sorted.find(([column]) => !column.startsWith("lathe")) ?? sorted[0] ?? [""])[0];
}

/** Geometric means by column and setting, over the speedups that the cost of calls does not explain. */
export async function meansOf(data: Dataset, found: Speedup[], going: () => boolean): Promise<Mean[]> {
  const groups = new Map<string, number[]>();
  await idle(); // what is in sight comes first
  let paused = performance.now();
  for (const item of found) {
    const judged = judgementOf(data, item.baseline, item.point),
      key = `${data.scheduledText(item.point)}\n${data.conditionText(item.point)}\n${data.platformText(item.point)}`;
    if (!judged.withinOverhead) (groups.get(key) ?? groups.set(key, []).get(key)!).push(judged.ratio);
    if (performance.now() - paused > 20) {
      await idle();
      if (!going()) return [];
      paused = performance.now();
    }
  }
  const means: Mean[] = [];
  for (const [key, ratios] of groups) {
    const [column, setting, platform] = key.split("\n");
    means.push({ column, setting, platform, problems: ratios.length, mean: geometricMean(ratios) });
    await idle();
  }
  return means;
}

function meansTable(): TableView<Mean> {
  return new TableView<Mean>(
    "Geometric means of speedups",
    [
      { name: "column", width: "minmax(12rem, 2fr)", text: (row) => row.column },
      { name: "setting", width: "minmax(9rem, 1fr)", text: (row) => row.setting },
      { name: "platform", width: "minmax(8rem, 1fr)", text: (row) => row.platform },
      numberColumn("problems", "6rem", (row) => row.problems, String),
      numberColumn("geometric mean", "9.4rem", (row) => row.mean.ratio, ratio),
      numberColumn("95 % interval, over problems", "17rem", (row) => row.mean.low, (_low, { mean }) => interval(mean)),
    ],
    undefined,
    8,
  );
}

export const speedups: Section = {
  id: "speedups",
  title: "Speedup",
  note:
    "The time of the baseline divided by the time of the other column, above 1× the other is faster. Whiskers are 95 % intervals; " +
    "points measured in turns are compared round by round.",
  applies: (view) => view.data.columns.length > 1,
  mount(host, view) {
    const { data } = view;
    let baseline = usualBaseline(data, comparable(view)),
      found: Speedup[] = [],
      turn = 0;
    const pager = new Pager(16, "problem", () => chart.draw());
    const state = h("p", { class: "state", "aria-live": "polite" }),
      table = meansTable();
    const chart: ChartView = new ChartView(view, "Speedup bars", (width) => {
      const cells = new Set(pager.slice([...new Set(found.map((item) => item.cell))]));
      const shown = found.filter((item) => cells.has(item.cell));
      return shown.length ? plot(data, shown, baseline, view.colours, view.look(width)) : null;
    });
    const providers = [...new Set(data.columns.map((column) => column.split(/:| \(/)[0]))];
    const names = [
      ...new Set([...providers, ...data.columns, ...(data.document.baseline ? [data.document.baseline] : [])]),
    ];
    const ofProvider = (name: string) => data.columns.filter((column) => column.split(/:| \(/)[0] === name);
    const shownAs = (name: string) =>
      ofProvider(name).every((column) => data.unverified.has(column)) ? `${name} (${statusText(notVerified)})` : name;
    const options = names.map((name): [string, string] => [
      name,
      providers.includes(name) && !data.columns.includes(name) ? `${shownAs(name)} (fastest variant)` : name,
    ]);
    // On one platform, for all platforms.
    const { platforms } = data.document;
    if (platforms.length > 1)
      for (const column of data.columns)
        for (const { name } of platforms)
          options.push([`${column}${atPlatform}${name}`, `${column} on ${name}, for all platforms`]);
    const update = async () => {
      const mine = ++turn;
      const points = comparable(view);
      const cells = platformOf(baseline) === undefined ? cellsOf : cellsAcrossPlatforms;
      found = speedupsOver(data, cells(data, points), baseline);
      chart.draw();
      table.element.hidden = true;
      state.textContent = found.length
        ? "Computing geometric means …"
        : points.some((point) => matches(data, point, baseline))
          ? `Nothing was measured beside ${baseline}.`
          : `No point of ${baseline} is shown.`;
      setBusy(state, found.length > 0);
      const means = await meansOf(data, found, () => mine === turn);
      if (mine !== turn) return;
      setBusy(state, false);
      state.textContent = found.length ? "" : state.textContent;
      table.element.hidden = !means.length;
      table.show(means);
    };
    host.append(
      h(
        "div",
        { class: "controls" },
        choice("Baseline", options, baseline, (value) => {
          baseline = value;
          void update();
        }),
        pager.element,
      ),
      chart.element,
      state,
      table.element,
    );
    return () => void update();
  },
};
