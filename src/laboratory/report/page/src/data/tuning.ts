// Tuning records by task, in the order in which they were tried.
import { unpack, type Numbers } from "./columns";
import type { Dataset } from "./dataset";
import { notVerified, problemTitle } from "./format";

export interface Trial {
  schedule: string;
  status: string;
  reason: string;
  verdict: string;
  searcher: string;
  seconds: number; // NaN: none
  measured: string;
  experiment: number; // index
  platform: string; // its name; "" where there is one platform, or if it is not known
}
export interface Task {
  text: string;
  family: string;
  trials: Trial[];
  default: number; // index of the trial with the schedule without tuning, -1: not known
  best: number; // index of the trial with the schedule to use, -1: none
  passed: number;
  unverified: number; // timed by another program
}

/**
 * What the turns at the end of a search have decided. Only their schedules have a verdict, and the default comes first
 * among them unless it failed (tune/Tuner.h). Without turns the best trial is the fastest one.
 */
function settle(task: Task): void {
  const settled = [...task.trials.keys()].filter((trial) => task.trials[trial].verdict !== "open" && task.trials[trial].seconds > 0);
  if (!settled.length) return;
  const { experiment } = task.trials[settled[settled.length - 1]], // an earlier search may have settled others
    first = settled.find((trial) => task.trials[trial].experiment === experiment)!,
    kept = settled
      .filter((trial) => task.trials[trial].verdict === "faster")
      .sort((a, b) => task.trials[a].seconds - task.trials[b].seconds);
  if (task.trials[first].verdict === "no_gain") task.default = first;
  if (kept.length || task.default >= 0) task.best = kept.length ? kept[0] : task.default;
}

export function tasksOf(data: Dataset): Task[] {
  const { tuning, texts, platforms } = data.document;
  if (!tuning.count) return [];
  const columns = new Map<string, Numbers>();
  const of = (name: string) => columns.get(name) ?? columns.set(name, unpack(tuning.columns[name])).get(name)!;
  const tasks = tuning.tasks.map((task): Task => ({ ...task, trials: [], default: -1, best: -1, passed: 0, unverified: 0 }));
  const text = (name: string, record: number) => texts[of(name)[record]] ?? "";
  const seconds = tuning.columns.seconds ? of("seconds") : undefined;
  const platformOf = (record: number) =>
    platforms.length > 1 ? (platforms[of("platform")[record]]?.name ?? "") : "";
  for (let record = 0; record < tuning.count; ++record)
    tasks[of("task")[record]].trials.push({
      schedule: text("schedule", record),
      status: text("status", record),
      reason: text("reason", record),
      verdict: text("verdict", record),
      searcher: text("searcher", record),
      seconds: seconds ? seconds[record] : NaN,
      measured: text("measured", record),
      experiment: of("experiment")[record],
      platform: platformOf(record),
    });
  for (const task of tasks) {
    task.trials.sort((a, b) => (a.measured < b.measured ? -1 : a.measured > b.measured ? 1 : 0));
    task.trials.forEach((trial, index) => {
      if (!(trial.seconds > 0)) return;
      ++task[trial.status === notVerified ? "unverified" : "passed"];
      if (task.best < 0 || trial.seconds < task.trials[task.best].seconds) task.best = index;
    });
    settle(task);
  }
  return tasks;
}
/** "conv 1×64×56×56 * 128×64×3×3 stride 2, relu": what differs between tasks of one machine, without biases and layouts. */
export function taskTitle(text: string): string {
  const parts = text.split(" | "),
    graph = parts[0].startsWith("graph/"); // in all layouts of its operands
  const [operator, tensors, epilogue, threads] = parts.slice(graph ? 2 : 1);
  if (!tensors) return text;
  const [name, ...attributes] = operator
    .replace(/=\[([^\]]*)\],?/g, (_all, list: string) => `=${list.replace(/ /g, "")}`)
    .split(" ");
  const shapes = tensors
    .split(" -> ")[0]
    .split("; ")
    .map((tensor) => /^\S+ (\S+)/.exec(tensor)?.[1] ?? tensor)
    .filter((dims, index) => index === 0 || dims.includes("x"));
  const what = [name || epilogue, ...(name ? [shapes.join(" * "), ...attributes] : [tensors])].join(" ");
  return [
    (graph ? "layouts of " : "") + problemTitle(what),
    ...(name && epilogue !== "none" ? [epilogue] : []),
    ...(threads && threads !== "1 thread" ? [threads] : []),
  ].join(", ");
}
