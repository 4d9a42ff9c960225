// node judge.mjs DOCUMENT.json: what the page says of every two points of one problem, column and setting in different
// experiments, as JSON: before, after (experiments), problem, variant, ratio, low, high, isRange, verdict.
import { readFileSync } from "node:fs";
import { load } from "./load.mjs";

const { Dataset } = await load("data/dataset.ts");
const { judgementOf } = await load("data/cells.ts");

const data = new Dataset(JSON.parse(readFileSync(process.argv[2], "utf8")));
const groups = new Map();
for (let point = 0; point < data.count; ++point) {
  if (!data.counts(point)) continue;
  const key = `${data.problem(point).text}\n${data.scheduledText(point)}\n${data.settingText(point)}`;
  groups.set(key, [...(groups.get(key) ?? []), point]);
}
const found = [];
for (const points of groups.values())
  for (const before of points)
    for (const after of points)
      if (data.experiment(before).uuid !== data.experiment(after).uuid) {
        const { ratio, low, high, isRange, verdict } = judgementOf(data, before, after);
        found.push({
          before: data.experiment(before).uuid,
          after: data.experiment(after).uuid,
          problem: data.problem(before).text,
          variant: data.text(before, "variant"),
          ...{ ratio, low, high, isRange, verdict },
        });
      }
console.log(JSON.stringify(found));
