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
}
export interface Task {
  text: string;
  family: string;
  trials: Trial[];
  first: number; // seconds of the first trial that passed, NaN: none
  best: number; // index of the fastest trial, -1: none
  passed: number;
  unverified: number; // timed by another program
}

export function tasksOf(data: Dataset): Task[] {
  const { tuning, texts } = data.document;
  if (!tuning.count) return [];
  const columns = new Map<string, Numbers>();
  const of = (name: string) => columns.get(name) ?? columns.set(name, unpack(tuning.columns[name])).get(name)!;
  const tasks = tuning.tasks.map((task): Task => ({ ...task, trials: [], first: NaN, best: -1, passed: 0, unverified: 0 }));
  const text = (name: string, record: number) => texts[of(name)[record]] ?? "";
  const seconds = tuning.columns.seconds ? of("seconds") : undefined;
  for (let record = 0; record < tuning.count; ++record)
    tasks[of("task")[record]].trials.push({
      schedule: text("schedule", record),
      status: text("status", record),
      reason: text("reason", record),
      verdict: text("verdict", record),
      searcher: text("searcher", record),
      seconds: seconds ? seconds[record] : NaN,
      measured: text("measured", record),
    });
  for (const task of tasks) {
    task.trials.sort((a, b) => (a.measured < b.measured ? -1 : a.measured > b.measured ? 1 : 0));
    task.trials.forEach((trial, index) => {
      if (!(trial.seconds > 0)) return;
      ++task[trial.status === notVerified ? "unverified" : "passed"];
      if (!(task.first > 0)) task.first = trial.seconds;
      if (task.best < 0 || trial.seconds < task.trials[task.best].seconds) task.best = index;
    });
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
