// The search for schedules: the best time over the trials, and all tasks.
import { curves, type Curve } from "../charts/curves";
import { ratio, shorten, statusText, time } from "../data/format";
import { tasksOf, taskTitle, type Task, type Trial } from "../data/tuning";
import { ChartView } from "../ui/chart";
import { facts, h } from "../ui/dom";
import { numberColumn, TableView } from "../ui/table";
import type { Section } from "../ui/view";
import { statusClass } from "./columns";

/** The trials of a task as they were measured, and the best of them so far. */
export function taskCurves(task: Task): Curve[] {
  let best = Infinity;
  const at = (x: number, value: number, label: string) => ({ x, value, low: NaN, high: NaN, point: -1, label });
  const tried = task.trials.map((trial, index) =>
    at(index + 1, trial.seconds, `trial ${index + 1}${trial.platform && ` on ${trial.platform}`}, ${shorten(trial.schedule, 60)}`),
  );
  const soFar = task.trials.map((trial, index) =>
    at(index + 1, (best = Math.min(best, trial.seconds > 0 ? trial.seconds : Infinity)), `after trial ${index + 1}`),
  );
  return [
    { name: "best so far", colour: 0, form: "steps", points: soFar },
    { name: "trial", colour: 1, form: "dots", points: tried },
  ];
}

/** The platforms of the trials of a task. */
const platformsText = (task: Task) =>
  [...new Set(task.trials.map((trial) => trial.platform).filter(Boolean))].join(", ");
const secondsOf = (task: Task, trial: number) => (trial < 0 ? NaN : task.trials[trial].seconds);
const gain = (task: Task) => secondsOf(task, task.default) / secondsOf(task, task.best);
const verdictText = (verdict: string) => (verdict === "no_gain" ? "no gain" : verdict);

export const tuning: Section = {
  id: "tuning",
  title: "Tuning",
  note: "Schedules that a search has tried. The best schedule is the one that compilations use: another than the default only where a comparison in turns has found it faster, which the verdict says. A task whose search was ended before has no verdict (open): its best trial is the fastest one, and compilations do not use it.",
  applies: (view) => view.data.document.tuning.count > 0,
  mount(host, view) {
    const tasks = tasksOf(view.data),
      about = h("div", {});
    let chosen = [...tasks].sort((a, b) => b.trials.length - a.trials.length)[0];
    const chart = new ChartView(
      view,
      "Tuning curve",
      (width) =>
        curves(taskCurves(chosen), { x: "trial", y: "time of one run", logarithmic: true }, 340, view.look(width)),
      () => {},
    );
    const trials = new TableView<Trial>(
      "Trials",
      [
        numberColumn("time", "7rem", (trial) => trial.seconds, time),
        { name: "status", width: "8rem", text: (trial) => statusText(trial.status), badge: (trial) => statusClass(trial.status) },
        { name: "verdict", width: "6rem", text: (trial) => verdictText(trial.verdict) },
        { name: "searcher", width: "8rem", text: (trial) => trial.searcher },
        { name: "platform", width: "minmax(8rem, 1fr)", text: (trial) => trial.platform },
        { name: "schedule", width: "minmax(18rem, 2fr)", text: (trial) => trial.schedule },
        { name: "reason", width: "minmax(14rem, 1fr)", text: (trial) => trial.reason },
      ],
      undefined,
      8,
    );
    const draw = () => {
      about.replaceChildren(h("h3", {}, taskTitle(chosen.text)), facts([["task", chosen.text]]));
      chart.draw();
      trials.show(chosen.trials);
    };
    const table = new TableView<Task>(
      "Tasks",
      [
        { name: "task", width: "minmax(20rem, 3fr)", text: (task) => taskTitle(task.text), full: (task) => task.text },
        { name: "family", width: "8rem", text: (task) => task.family },
        { name: "platform", width: "minmax(8rem, 1fr)", text: platformsText },
        numberColumn("trials", "5rem", (task) => task.trials.length, String),
        numberColumn("passed", "9.5rem", (task) => task.passed, (passed, { unverified }) => (unverified ? `${passed}, ${unverified} not verified here` : String(passed))),
        numberColumn("default", "6rem", (task) => secondsOf(task, task.default), time),
        numberColumn("best", "6rem", (task) => secondsOf(task, task.best), time),
        numberColumn("default / best", "7.4rem", gain, ratio),
        { name: "verdict", width: "6rem", text: (task) => (task.best < 0 ? "" : verdictText(task.trials[task.best].verdict)) },
        {
          name: "best schedule",
          width: "minmax(16rem, 2fr)",
          text: (task) => (task.best < 0 ? "" : task.trials[task.best].schedule),
        },
      ],
      (task) => {
        chosen = task;
        draw();
        chart.element.scrollIntoView({ block: "nearest" });
      },
      8,
    );
    host.append(table.element, about, chart.element, trials.element);
    return () => {
      table.show(tasks);
      draw();
    };
  },
};
