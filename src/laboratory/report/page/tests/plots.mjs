// node plots.mjs: how plots look, and texts and figures out of what a store says. Prints a line for each test.
import assert from "node:assert/strict";
import { load } from "./load.mjs";
import { run } from "./run.mjs";

const { legend, paint } = await load("charts/plot.ts");
const { curves } = await load("charts/curves.ts");
const { markedBaseline, speedups } = await load("charts/speedups.ts");
const { figuresText, firstRows } = await load("data/networks.ts");
const { settingFacts } = await load("data/settings.ts");
const { Judgements } = await load("data/judged.ts");
const { companyMatrices, slowDownsOf } = await load("data/company.ts");
const { statisticOf, statistics } = await load("data/dataset.ts");
const { matches, speedupsOver, cellsAcrossPlatforms } = await load("data/cells.ts");
const { visibleIn } = await load("data/visible.ts");
const { tasksOf } = await load("data/tuning.ts");
const { violinParts, violins } = await load("charts/violins.ts");
const { linesOf } = await load("data/axes.ts");

const looks = [false, true].map((dark) => ({ dark, width: 900, still: true }));
const packed = (values, type) => ({
  type,
  data: Buffer.from({ u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array }[type].from(values).buffer).toString("base64"),
});

const tests = {
  async "no two of forty columns are painted alike"() {
    for (const look of looks)
      assert.equal(new Set(Array.from({ length: 40 }, (_column, index) => JSON.stringify(paint(index, look)))).size, 40);
  },

  async "a plot begins below its legend, however many rows that has"() {
    const names = Array.from({ length: 30 }, (_name, index) => `provider-${index}:implementation`);
    for (const look of [...looks, { ...looks[0], still: false }]) {
      const { legend: rows, bottom } = legend(look, names);
      assert.equal(rows.flatMap((row) => row.data).length, names.length);
      assert.equal(rows.length > 3, look.still); // on the page it is one row that scrolls
      rows.forEach((row, index) => assert(row.top + 22 <= (rows[index + 1]?.top ?? bottom)));
      const lines = names.map((name, index) => ({
        name,
        colour: index,
        form: "line",
        points: [{ x: 0, seconds: 1, low: 1, high: 1, point: -1, label: "" }],
      }));
      const plot = curves(lines, { x: "x", y: "y", logarithmic: false }, 300, look);
      assert(plot.option.grid.top >= bottom);
      assert(plot.height - plot.option.grid.top - plot.option.grid.bottom > 150);
    }
    const [row] = legend(looks[0], ["x".repeat(400)]).legend;
    assert(row.formatter("x".repeat(400)).length < 200);
  },

  async "more than twelve violins are in several panels, and a decade has a logarithmic axis"() {
    // 30 columns of one cell; each is `factor` times as slow as the one before.
    const make = (factor) => {
      const names = Array.from({ length: 30 }, (_name, index) => `provider:implementation-${index}`),
        times = names.map((_name, index) => 1e4 * factor ** index);
      const data = {
        problem: () => ({ flops: 1e6, text: "conv" }),
        timed: () => true,
        time: (point) => times[point] * 1e-9,
        nanoseconds: (point) => Float64Array.of(0.99, 1, 1, 1.01).map((share) => share * times[point]),
        columnText: (point) => names[point],
      };
      const cell = { points: names.map((_name, point) => point), problem: "conv", context: "ops" };
      return { data, cells: [cell], names };
    };
    for (const look of [...looks, { ...looks[0], width: 360, still: false }])
      for (const measure of ["time", "gflops"])
        for (const [factor, type] of [[1.01, "value"], [1.5, "log"]]) {
          const { data, cells, names } = make(factor),
            parts = violinParts(data, cells, "variant"),
            { option, marks } = violins(data, parts, "variant", measure, new Map(), look);
          const shown = option.yAxis.map(({ data: labels }) => labels);
          assert.equal(shown.length, 3);
          assert(shown.every((labels) => labels.length <= 12), `${shown.map((labels) => labels.length)}`);
          assert.deepEqual(shown.flat(), names);
          assert.equal(new Set(marks.map(({ label }) => label())).size, 30);
          assert.match(marks[29].label(), measure === "time" ? / median \d\S* (µs|ms|s)$/ : / median \d\S* GFLOPS$/);
          assert.equal(new Set(shown.flat().map(option.yAxis[0].axisLabel.formatter)).size, 30); // names that are cut differ
          assert.deepEqual(option.xAxis.map((axis) => axis.type), [type, type, type]);
          if (type === "value") continue;
          option.series.forEach(({ data: items }, panel) => {
            const { min, max, axisLabel } = option.xAxis[panel];
            for (const { value } of items) assert(min <= value[1] && value[2] <= max);
            assert(axisLabel.customValues.length > 2);
          });
        }
    const { data, cells } = make(1.5);
    assert.equal(violinParts(data, [{ ...cells[0], points: cells[0].points.slice(0, 12) }], "variant").length, 1);
  },

  async "problems that differ in one number are a line"() {
    const of = (...texts) => [...linesOf({ document: { problems: texts.map((text) => ({ operator: text.split(" ")[0], text })) } })];
    const range = (values, text) => values.map((n) => text.replaceAll("N", n));
    const [steps] = of(...range([1, 2, 3, 30], "relu x=Nx64"));
    assert.deepEqual([steps.axis, steps.title, [...steps.values]], ["relu x[0]", "relu x=n×64", [[0, 1], [1, 2], [2, 3], [3, 30]]]);
    // The channels of a convolution are in two operands; sizes that double are geometric.
    const channels = of(...range([16, 32, 64], "conv x=1xNx56x56 w=8xNx3x3:const strides=1,1 dilations=1,1 pads=1,1,1,1 +relu"));
    assert.deepEqual(channels.map(({ axis, title, geometric }) => [axis, title, geometric]), [
      ["conv x[1], w[1]", "conv x=1×n×56×56 w=8×n×3×3 pad 1 +relu", true],
    ]);
    assert.deepEqual(of(...range([10, 20, 30, 40], "relu x=N")).map(({ geometric }) => geometric), [false]);
    // Of a grid, every row and every column that is long enough.
    const grid = of(...[1, 2, 3].flatMap((m) => range([8, 16], `gemm a=${m}x4 b=4xN`)));
    assert.deepEqual(grid.map(({ title, values }) => [title, values.size]), [["gemm a=n×4 b=4×8", 3], ["gemm a=n×4 b=4×16", 3]]);
    // Two problems are no curve, and texts without numbers, of other types or of other operators are other problems.
    assert.deepEqual(of("relu x=1x64", "relu x=2x64", "relu x=3x64:bf16", "tanh x=3x64", "custom", "<b>9x9", "softmax x=3x64 axis=-1"), []);
    // A network by its inputs; the hash of the file is no number.
    assert.deepEqual(of(...range([1, 4, 16], "net.onnx@0123456789abcdef data Nx3x8x8")).map(({ title }) => title), ["net.onnx data n×3×8×8"]);
  },

  async "company is compared with the same point alone in its experiment"() {
    const company = (problem) => ({ problem, provider: "lathe:auto", threads: 1, place: "cache", least_runs: 3 });
    const settings = [{ threads: 1, text: "" }, { threads: 1, text: "a", company: company("relu x=1") }, { threads: 1, text: "b", company: company("relu x=2") }, { threads: 2, text: "c", company: company("relu x=2") }];
    // Each point: experiment, setting, time. The last ones lack their point alone: it has other threads, or did not pass.
    const points = [[0, 0, 2], [0, 1, 3], [0, 2, 5], [1, 0, 4], [1, 1, 4], [1, 3, 9], [2, 0, 1], [2, 1, 2]];
    const data = {
      count: points.length,
      document: { settings },
      column: (name) => points.map(([experiment, setting]) => ({ experiment, setting, problem: 0 })[name]),
      columnOf: points.map(() => 0),
      setting: (point) => settings[points[point][1]],
      counts: (point) => point !== 6,
      time: (point) => points[point][2],
      judgements: { of: (_top, _bottom, _statistic, ratio) => ({ ratio }) },
      problem: () => ({ text: "conv" }),
      placedText: () => "lathe:auto",
      conditionText: () => "ops, 1 thread",
    };
    const all = points.map((_point, index) => index);
    assert.deepEqual(slowDownsOf(data, all).map(({ point, alone, judged }) => [point, alone, judged.ratio]), [[1, 0, 1.5], [2, 0, 2.5], [4, 3, 1]]);
    const [matrix, ...rest] = companyMatrices(data, all.slice(0, 3), (text) => text);
    assert.equal(rest.length, 0);
    assert.deepEqual(matrix.companies, ["relu x=1 (1 thread, same cache)", "relu x=2 (1 thread, same cache)"]);
    assert.deepEqual(matrix.cells.map((row) => row.map((cell) => cell.point)), [[1, 2]]);
  },

  async "a baseline that is the same as another column is that column"() {
    const texts = {
      provider: ["lathe", "lathe", "onednn"],
      status: ["passed", "same_as", "passed"],
      reason: ["", "lathe:auto", ""],
    };
    const columns = ["lathe:auto", "lathe:direct", "onednn:auto"];
    const data = {
      document: { platforms: [{ name: "X" }], settings: [{ schedule: "" }] },
      experiment: () => ({ platform: 0 }),
      time: (point) => [2, NaN, 1][point],
      columns,
      columnOf: [0, 1, 2],
      column: () => [0, 0, 0],
      counts: (point) => point !== 1,
      text: (point, name) => texts[name][point],
      columnText: (point) => columns[point],
      setting: () => ({ schedule: "" }),
    };
    const found = speedupsOver(data, [{ points: [0, 1, 2] }], "lathe:direct");
    assert.deepEqual(
      found.map(({ point, baseline }) => [point, baseline]),
      [[2, 0]],
    );
  },

  async "a row of speedups is as high as its bars, and the baseline is marked for what it is"() {
    const mark = " (not verified here)";
    const columns = ["lathe", "peer", "log"].map((name) => (name === "log" ? name + mark : name));
    const data = {
      unverified: new Set([`log${mark}`]),
      columnText: (point) => columns[point % 3],
      scheduledText: (point) => columns[point % 3],
      time: () => 1,
      judgements: { of: () => undefined },
      experiment: () => ({ platform: 0 }),
      document: { platforms: [{ name: "X" }] },
      statistic: "median",
      count: 7,
    };
    const [full, single] = [{ problem: "many", context: "ops" }, { problem: "one", context: "ops" }];
    const found = [
      ...Array.from({ length: 6 }, () => ({ point: 0, baseline: 1, cell: full })),
      { point: 0, baseline: 1, cell: single },
    ];
    assert.equal(markedBaseline(data, found, "peer"), "peer");
    assert.equal(markedBaseline(data, [...found, { point: 0, baseline: 2, cell: single }], "peer"), `peer${mark}`);
    assert.equal(markedBaseline(data, [{ point: 0, baseline: 2, cell: single }], `log${mark}`), `log${mark}`);
    const { option, height } = speedups(data, found, "peer", new Map([["lathe", 0]]), looks[0]);
    const [first, second] = option.yAxis.axisLabel.customValues;
    assert(second - first < 70, `${second - first} pixels`); // half of six bars, half of one, and the room between
    assert.equal(option.yAxis.axisLabel.formatter(second), "one");
    assert(option.grid.top + option.grid.height < height);
  },

  async "the best schedule is the one that the turns have kept"() {
    const texts = ["passed", "open", "no_gain", "faster", "a", "b", "c"];
    const task = (rows) =>
      tasksOf({
        document: {
          texts,
          platforms: [],
          tuning: {
            count: rows.length,
            tasks: [{ text: "t", family: "f" }],
            columns: {
              ...Object.fromEntries(
                ["task", "experiment", "schedule", "status", "verdict", "reason", "searcher", "measured"].map((name) => [
                  name,
                  packed(
                    rows.map((row) => (name === "experiment" ? (row.experiment ?? 0) : Math.max(0, texts.indexOf(row[name])))),
                    "u32",
                  ),
                ]),
              ),
              seconds: packed(rows.map((row) => row.seconds), "f64"),
            },
          },
        },
      })[0];
    const trials = (...verdicts) => verdicts.map(([schedule, verdict, seconds, experiment]) => ({ schedule, verdict, seconds, experiment }));
    // The first trial was not the default, and a faster trial was no gain: there is none.
    const none = task(trials(["a", "open", 3], ["b", "no_gain", 2], ["c", "no_gain", 1.9]));
    assert.deepEqual([none.default, none.best], [1, 1]);
    const gained = task(trials(["a", "open", 1], ["b", "no_gain", 2], ["c", "faster", 1.5]));
    assert.deepEqual([gained.default, gained.best], [1, 2]);
    // An earlier search has settled another one.
    const again = task(trials(["a", "no_gain", 3, 0], ["b", "no_gain", 2, 1], ["c", "no_gain", 1.9, 1]));
    assert.deepEqual([again.default, again.best], [1, 1]);
    const ended = task(trials(["a", "open", 3], ["b", "open", 2]));
    assert.deepEqual([ended.default, ended.best], [-1, 1]);
  },

  async "settings and figures are read as what they are"() {
    assert.deepEqual(
      settingFacts({
        batch: "",
        check_only: false,
        max_rounds: 0,
        max_seconds: 0.3,
        starts: 6,
        adapt: true,
        std: [],
        mean: [1, 2],
        machine: { cores: 2 },
        space: { cache_bytes: 2048, until: null },
      }),
      [
        ["max seconds", "0.3"],
        ["starts", "6"],
        ["adapt", "yes"],
        ["mean", "1, 2"],
        ["space", "cache 2.05 kB"],
      ],
    );
    assert.equal(
      figuresText({ pictures: 40, top1: 0.1, predicted_us: 1500, package_bytes: 2048, score: 0.25, "confusion 0 1": 3 }),
      "pictures 40, top1 10.0 %, predicted 1.500 ms, package 2.05 kB, score 0.2500",
    );
  },

  async "any statistic of the samples may stand for a time"() {
    const values = [10, 1, 4, 2, 3];
    assert.deepEqual(
      statistics.map((name) => Number(statisticOf(values, name).toFixed(9))),
      [3, 1, 4, 1.2, 2, 4, 8.8],
    );
  },

  async "judgements are read in both directions"() {
    const distance = (value) => 1 + Math.round(1300 * (Math.log2(value) + 20));
    const columns = (...both) => ({
      verdicts: packed(both, "u8"),
      ratios: packed([0, 0x8000 + distance(1), distance(1)], "u16"),
      lows: packed(both.map(() => distance(0.5)), "u16"),
      highs: packed(both.map(() => distance(0.25)), "u16"),
    });
    const judgements = new Judgements({
      partners: packed([0, 2, 1, 0], "u8"),
      others: packed([2, 3, 3], "u8"),
      judged: { median: columns(1 + 7 * 0 + 1, 0, 0), minimum: columns(1 + 7 * 3 + 6, 1 + 7 * 2 + 2, 1) },
    });
    const read = (...pair) => {
      const { ratio, low, high, ...rest } = judgements.of(...pair);
      return [...[ratio, low, high].map((value) => Number(value.toFixed(3))), rest];
    };
    const because = (verdict, because = "", isRange = false) => ({ isRange, verdict, because, withinOverhead: because === "call overhead" });
    assert.deepEqual(read(1, 2, "median", 2), [2, 1.414, 2.378, because("faster")]);
    assert.deepEqual(read(2, 1, "median", 0.5), [0.5, 0.42, 0.707, because("slower")]);
    assert.deepEqual(read(1, 3, "median", 4), [2, 1.414, 2.378, because("ambiguous", "too few starts", true)]);
    assert.deepEqual(read(3, 2, "median", 1), [0.5, 0.42, 0.707, because("ambiguous", "too few starts", true)]);
    assert.deepEqual(read(1, 2, "minimum", 1)[3], because("ambiguous", "call overhead"));
    assert.deepEqual(read(2, 1, "minimum", 1)[3], because("ambiguous", "wide interval"));
    assert.deepEqual(read(3, 1, "minimum", 1)[3], because("same"));
    for (const pair of [[0, 1], [0, 3], [1, 1]]) assert.equal(judgements.of(...pair, "median", 1), undefined);
  },

  async "a baseline on one platform is compared with all"() {
    const platforms = [{ name: "EPYC 9755", key: "ab12" }, { name: "Xeon", key: "cd34" }];
    const data = {
      document: { platforms, settings: [{ schedule: "" }] },
      columns: ["lathe"],
      columnOf: [0, 0],
      column: (name) => (name === "problem" ? [0, 0] : [0, 0]),
      text: () => "lathe",
      columnText: () => "lathe",
      setting: () => ({ schedule: "", text: "" }),
      experiment: (point) => ({ kind: "ops", platform: point }),
      platform: (point) => platforms[point],
      counts: () => true,
      time: (point) => 1 + point,
    };
    assert.equal(matches(data, 0, "lathe@epyc"), true);
    assert.equal(matches(data, 1, "lathe@epyc"), false);
    assert.equal(matches(data, 1, "lathe@cd"), true);
    assert.equal(matches(data, 1, "lathe"), true);
    const found = speedupsOver(data, cellsAcrossPlatforms(data, [0, 1]), "lathe@Xeon");
    assert.deepEqual(found.map(({ point, baseline }) => [point, baseline]), [[0, 1]]);
  },

  async "every row of a sweep is compared with its first one, of another model, too"() {
    const sweeps = [0, 0, 0, 1, 1, 2];
    const data = {
      count: sweeps.length,
      counts: (point) => point !== 0, // the first row has no time
      problem: (point) => ({ operator: point === 2 ? "conv" : "model", text: point % 2 ? "int8.onnx" : "float.onnx" }),
      experiment: (point) => ({ uuid: `e${sweeps[point]}`, command: sweeps[point] === 2 ? "bench m" : "sweep m" }),
    };
    assert.deepEqual([...firstRows(data)], [["e0", 1], ["e1", 3]]);
  },

  async "control characters of names are text, and commands stay commands"() {
    assert.deepEqual(visibleIn({ command: "run 'a\nb'", list: ["\u202eevil", "a\tb", "Ümläut 日本"], "k\u0000": 1 }), {
      command: "run 'a\nb'",
      list: ["\\u202eevil", "a\\tb", "Ümläut 日本"],
      "k\\u0000": 1,
    });
  },
};

process.exitCode = await run(tests);
