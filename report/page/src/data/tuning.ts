// Tuning records by task, in the order in which they were tried.
import { notVerified } from "./format";
import { unpack, type Numbers } from "./columns";
import type { Dataset } from "./dataset";

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
/** "conv strides=[1, 1] …": what of the text of a task differs between tasks of one machine. */
export function taskTitle(text: string): string {
  const parts = text.split(" | ");
  return parts.length > 3 ? parts.slice(1, -1).join(" | ") : text;
}
