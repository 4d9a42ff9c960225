// node page.mjs PAGE.html EXPECTED.json CHROMIUM: drives a report in headless Chromium and holds it against what the store says.
// EXPECTED.json is written by cli/tests/report_browser_test.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { run } from "./run.mjs";
import { column, everySection, header, marks, openTab, rowCount, show } from "./tab.mjs";

const [page, expectedFile, executablePath] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const address = pathToFileURL(page).href;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

const open = (options, url = address) => openTab(browser, options, url);

const tests = {
  async "the page loads without errors and asks nobody"() {
    const { tab, requests, errors, context } = await open();
    const ids = await everySection(tab);
    for (const id of expected.sections) assert(ids.includes(id), `section ${id} is missing: ${ids}`);
    assert.deepEqual(
      requests.filter((url) => url !== address && !url.startsWith("data:")),
      [],
    );
    assert.deepEqual(errors, []);
    await context.close();
  },

  async "figures equal those of the store"() {
    const { tab, context } = await open();
    const shown = await tab.evaluate(() => {
      const { data } = window.latheReport;
      return Array.from({ length: data.count }, (_, i) => ({
        experiment: data.experiment(i).uuid,
        problem: data.problem(i).text,
        provider: data.text(i, "provider"),
        variant: data.text(i, "variant"),
        threads: data.setting(i).threads,
        status: data.text(i, "status"),
        repro: data.text(i, "repro"),
        median: data.number(i, "median"),
        samples: Array.from(data.nanoseconds(i)),
      }));
    });
    const key = (point) => [point.experiment, point.problem, point.provider, point.variant, point.threads].join("|");
    const kept = new Map(expected.points.map((point) => [key(point), point]));
    assert.equal(shown.length, expected.points.length);
    for (const point of shown) {
      const store = kept.get(key(point));
      assert(store, `the store has no ${key(point)}`);
      assert.deepEqual([point.status, point.repro, point.samples], [store.status, store.repro, store.samples]);
      if (store.median_ms)
        assert(
          Math.abs(point.median * 1e3 - store.median_ms) < 1e-9 * store.median_ms,
          `${key(point)}: ${point.median * 1e3} ms, stored ${store.median_ms}`,
        );
    }
    await context.close();
  },

  async "plots have a mark for every point"() {
    const { tab, context } = await open();
    for (const [id, counts] of Object.entries(expected.marks)) {
      await show(tab, id);
      assert.deepEqual(await marks(tab, id), counts, id);
    }
    await context.close();
  },

  async "tables sort and filter"() {
    const { tab, context } = await open();
    await show(tab, "points");
    assert.equal(await rowCount(tab, "points"), expected.current);
    await header(tab, "points", "GFLOPS").click();
    const emptyLast = (texts) => assert(!texts.some((text, row) => text && row && !texts[row - 1]), `${texts}`);
    const up = await column(tab, "points", "GFLOPS"),
      numbers = up.filter(Boolean).map(Number);
    assert(numbers.length > 3);
    emptyLast(up);
    assert.deepEqual(
      numbers,
      [...numbers].sort((a, b) => a - b),
    );
    await header(tab, "points", "GFLOPS").click();
    emptyLast(await column(tab, "points", "GFLOPS"));
    const down = (await column(tab, "points", "GFLOPS")).filter(Boolean).map(Number);
    assert.deepEqual(
      down,
      [...down].sort((a, b) => b - a),
    );
    assert.equal(
      await tab.locator("#points [role=columnheader]", { hasText: "GFLOPS" }).getAttribute("aria-sort"),
      "descending",
    );
    await tab.fill(".filters input[type=search]", expected.filter.text);
    await tab.waitForFunction(
      (count) => document.querySelector("#points .scroller").getAttribute("aria-rowcount") === String(count + 1),
      expected.filter.count,
    );
    await tab.click(".filters .reset");
    await tab.waitForFunction(
      (count) => document.querySelector("#points .scroller").getAttribute("aria-rowcount") === String(count + 1),
      expected.current,
    );
    await context.close();
  },

  async "columns without a value are not shown, and headers are whole"() {
    const { tab, context } = await open();
    let shown = 0;
    for (const id of await everySection(tab))
      for (const table of await tab.$$(`#${id} .table:not([hidden]) .scroller`)) {
        const cut = await table.evaluate((element) =>
          Array.from(element.querySelectorAll(".head > div"))
            .filter((cell) => cell.scrollWidth > cell.clientWidth)
            .map((cell) => cell.textContent),
        );
        assert.deepEqual(cut, [], `${id}: headers are cut`);
        const [rows, texts] = await table.evaluate((element) => [
          Number(element.getAttribute("aria-rowcount")) - 1,
          Array.from(element.querySelectorAll(".body .row"), (row) =>
            Array.from(row.children, (cell) => cell.textContent),
          ),
        ]);
        if (!rows || texts.length < rows) continue; // rows out of sight may have the values
        ++shown;
        texts[0].forEach((_text, at) =>
          assert(
            texts.some((row) => row[at]),
            `${id}: column ${at} is empty`,
          ),
        );
      }
    assert(shown > 3);
    await context.close();
  },

  async "the baseline can be chosen, and speedups equal the analysis"() {
    const { tab, context } = await open();
    await show(tab, "speedups");
    for (const { baseline, means } of expected.speedups) {
      await tab.selectOption("#speedups select", baseline);
      await tab.waitForFunction(
        (name) =>
          document.querySelector("#speedups .state").textContent === "" &&
          document.querySelector("#speedups select").value === name,
        baseline,
      );
      const columns = await column(tab, "speedups", "column"),
        values = await column(tab, "speedups", "geometric mean");
      assert.deepEqual(
        columns.map((name, row) => [name, values[row]]).sort(),
        means.map(({ column, mean }) => [column, `${mean.toFixed(3)}×`]).sort(),
      );
    }
    await context.close();
  },

  async "verdicts and intervals are those of the analysis, of sweeps and segments, too"() {
    const { tab, errors, context } = await open({}, pathToFileURL(expected.turns.page).href);
    await show(tab, "best");
    const [problems, verdicts, ratios, intervals] = [
      await tab.$$eval("#best .body .row", (rows) => rows.map((row) => row.children[0].title || row.children[0].textContent)),
      await column(tab, "best", "verdict"),
      await column(tab, "best", "next / fastest"),
      await column(tab, "best", "95 % interval"),
    ];
    // Intervals have 0.03 % of their width as precision: the last digit may be another one.
    const near = (text, ...values) =>
      text.match(/[\d.]+/g).forEach((shown, i) => assert(Math.abs(shown - values[i]) < 0.0015 * Math.max(1, values[i]), `${text}: ${values}`));
    const judged = new Map(expected.turns.verdicts.map(([problem, ...told]) => [problem, told]));
    const rows = problems.map((_problem, row) => row).filter((row) => verdicts[row] !== "alone");
    assert.deepEqual(rows.map((row) => [problems[row], verdicts[row]]).sort(), [...judged].map(([problem, [verdict]]) => [problem, verdict]).sort());
    for (const row of rows) {
      const [, ratio, low, high] = judged.get(problems[row]);
      near(ratios[row], ratio);
      near(intervals[row], low, high);
    }
    // A sweep's speedup over its first row is the same ratio, the other way round.
    await show(tab, "sweeps");
    const [, , ratio] = expected.turns.verdicts.find(([problem]) => problem.startsWith("net.onnx")),
      speedups = (await column(tab, "sweeps", "speedup")).filter(Boolean);
    assert.equal(speedups.length, 1);
    near(speedups[0], 1 / ratio);
    assert.deepEqual(errors, []);
    await context.close();
  },

  async "points that nobody has verified are no failures"() {
    const { tab, context } = await open({}, pathToFileURL(expected.turns.page).href);
    await show(tab, "unverified");
    assert.deepEqual(await column(tab, "unverified", "status"), ["not verified"]);
    assert.deepEqual(await column(tab, "unverified", "problem"), ["\\u202etxen.onnx"]); // turns nothing around
    await show(tab, "failures");
    assert(!(await tab.textContent("#failures")).includes("txen"));
    assert((await tab.textContent("#overview")).includes("1 not verified"));
    await tab.fill(".filters input[type=search]", "nothing has this name");
    await tab.waitForFunction(() => document.querySelector(".unmatched").textContent !== "");
    await show(tab, "points");
    assert.equal(await tab.textContent("#points .body"), "Nothing to show.");
    await context.close();
  },

  async "colours follow the system and the button"() {
    const background = (tab) => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await open({ colorScheme: "light" }),
      dark = await open({ colorScheme: "dark" });
    const [bright, dim] = [await background(light.tab), await background(dark.tab)];
    assert.notEqual(bright, dim);
    // Plots in sight, and those that come into sight later.
    for (const { tab } of [light, dark]) for (const id of ["violins", "roofline"]) await show(tab, id);
    await light.tab.click(".theme");
    assert.equal(await background(light.tab), dim);
    for (const id of ["roofline", "violins"]) {
      await show(light.tab, id);
      await light.tab.waitForFunction(
        ([section, picture]) => document.querySelector(`#${section} canvas`).toDataURL() === picture,
        [id, await dark.tab.$eval(`#${id} canvas`, (canvas) => canvas.toDataURL())],
      );
    }
    await everySection(light.tab);
    assert.deepEqual(light.errors, []);
    await light.context.close();
    await dark.context.close();
  },

  async "keys lead from a mark to its samples and its repro line"() {
    const { tab, context } = await open();
    await show(tab, "violins");
    await tab.focus("#violins .chart");
    await tab.keyboard.press("ArrowRight");
    assert.notEqual(await tab.textContent("#violins .spoken"), "");
    await tab.keyboard.press("Enter");
    await tab.waitForSelector("dialog[open]");
    const text = await tab.textContent("dialog[open]");
    assert(
      expected.points.some((point) => point.repro && text.includes(point.repro) && text.includes(point.problem)),
      text,
    );
    await tab.locator("dialog summary").click();
    await tab.waitForFunction(() => /^round 1: \d+/.test(document.querySelector("dialog .raw").textContent));
    await tab.keyboard.press("Escape");
    assert.equal(await tab.locator("dialog[open]").count(), 0);
    await show(tab, "points");
    await tab.focus("#points .scroller");
    await tab.keyboard.press("End");
    const last = await tab.locator("#points .row.focused > div").first().getAttribute("title");
    await tab.keyboard.press("Enter");
    await tab.waitForSelector("dialog[open]");
    await tab.waitForTimeout(100); // the key must not press a button of the dialog as well
    assert.equal(await tab.textContent("dialog[open] .problem"), last);
    await context.close();
  },

  async "a click on a mark opens its point"() {
    const { tab, context } = await open();
    await show(tab, "speedups");
    await tab.selectOption("#speedups select", expected.speedups[0].baseline);
    await tab.waitForFunction(() => document.querySelector("#speedups .state").textContent === "");
    const box = await tab.locator("#speedups canvas").boundingBox();
    // Somewhere in the plot there is a bar.
    for (let y = 40; y < box.height - 60 && !(await tab.locator("dialog[open]").count()); y += 5)
      for (const share of [0.45, 0.55, 0.65, 0.75]) await tab.mouse.click(box.x + box.width * share, box.y + y);
    assert.equal(await tab.locator("dialog[open]").count(), 1);
    await context.close();
  },

  async "keys and clicks lead through the graph of the kernels"() {
    const { tab, errors, context } = await open();
    await show(tab, "graph");
    const spoken = () => tab.textContent("#graph .spoken");
    await tab.focus("#graph .chart");
    await tab.keyboard.press("ArrowDown");
    const seen = [await spoken()];
    assert.match(seen[0], /^input /);
    while (seen.length < 20) {
      await tab.keyboard.press("ArrowDown"); // along an edge
      const text = await spoken();
      if (text === seen.at(-1)) break; // nothing reads what this one gives
      seen.push(text);
    }
    assert(seen.length > 3, `${seen}`);
    assert.match(seen.at(-1), /^output /);
    assert.equal(new Set(seen).size, seen.length);
    await tab.keyboard.press("ArrowUp");
    assert.equal(await spoken(), seen.at(-2));
    await tab.keyboard.press("Enter");
    await tab.waitForSelector("dialog[open]");
    await tab.keyboard.press("Escape");
    const picture = () => tab.$eval("#graph canvas", (canvas) => canvas.toDataURL());
    const before = await picture();
    await tab.focus("#graph .chart");
    await tab.keyboard.press("+");
    await tab.waitForTimeout(60);
    const larger = await picture();
    assert.notEqual(larger, before);
    const box = await tab.locator("#graph canvas").boundingBox();
    await tab.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await tab.mouse.down();
    await tab.mouse.move(box.x + box.width / 2 - 60, box.y + box.height / 2 - 40, { steps: 4 });
    await tab.mouse.up();
    await tab.waitForTimeout(60);
    assert.notEqual(await picture(), larger);
    if (await tab.locator("dialog[open]").count()) await tab.keyboard.press("Escape");
    await tab.focus("#graph .chart");
    await tab.keyboard.press("0");
    for (let y = 60; y < box.height && !(await tab.locator("dialog[open]").count()); y += 12)
      for (const share of [0.35, 0.5, 0.65]) await tab.mouse.click(box.x + box.width * share, box.y + y);
    assert.equal(await tab.locator("dialog[open]").count(), 1);
    assert.deepEqual(errors, []);
    await context.close();
  },

  async "texts of the data stay texts"() {
    const { tab, context } = await open();
    await everySection(tab);
    await show(tab, "points");
    await tab.fill(".filters input[type=search]", "onerror");
    await tab.waitForFunction(
      (count) => document.querySelector("#points .scroller").getAttribute("aria-rowcount") === String(count + 1),
      expected.hostile.count,
    );
    assert.equal((await column(tab, "points", "problem"))[0], expected.hostile.text);
    await tab.click("#points .body .row");
    assert.equal(await tab.textContent("dialog[open] .problem"), expected.hostile.text);
    assert.equal(
      await tab.evaluate(() => document.images.length + document.querySelectorAll("iframe, object, embed").length),
      0,
    );
    assert.equal(await tab.evaluate(() => window.hacked), undefined);
    await context.close();
  },

  async "what other programs measured is marked wherever it is shown"() {
    const { tab, errors, context } = await open({}, pathToFileURL(expected.foreign).href),
      mark = "not verified here";
    await everySection(tab);
    await show(tab, "points");
    assert.deepEqual(await column(tab, "points", "status"), [mark, mark]);
    for (const text of await column(tab, "points", "column")) assert(text.endsWith(`(${mark})`), text);
    await tab.locator("#points .body .row").first().click();
    assert((await tab.textContent("dialog[open] h2")).includes(`(${mark})`));
    assert((await tab.textContent("dialog[open]")).includes(`status${mark}`));
    await tab.keyboard.press("Escape");
    assert.equal(await tab.locator("#failures .state").textContent(), "None.");
    assert((await tab.textContent("#overview")).includes(`2 ${mark}`));
    await show(tab, "speedups");
    assert((await tab.$eval("#speedups select", (select) => select.value)).endsWith(`(${mark})`)); // there is no other
    await tab.focus("#violins .chart");
    await tab.keyboard.press("ArrowRight");
    assert((await tab.textContent("#violins .spoken")).includes(`(${mark})`));
    assert.deepEqual(errors, []);
    await context.close();
  },

  async "nothing on two platforms has the same name"() {
    const { tab, errors, context } = await open({}, pathToFileURL(expected.platforms.page).href),
      { name } = expected.platforms;
    for (const [id, columns] of [["points", ["problem", "column", "setting", "platform", "schedule", "kind"]], ["best", ["problem", "setting", "platform"]]]) {
      await show(tab, id);
      await tab.$eval(`#${id} .scroller`, (table) => (table.style.height = "4000px"));
      await tab.waitForTimeout(60);
      const texts = await Promise.all(columns.map((title) => column(tab, id, title))),
        rows = texts[0].map((_text, row) => texts.map((list) => list[row]).join(" | "));
      assert.equal(rows.length, await rowCount(tab, id));
      assert.equal(new Set(rows).size, rows.length, rows.join("\n"));
      assert(rows.some((row) => row.includes(name)));
    }
    for (const id of ["violins", "curves", "speedups"]) {
      await show(tab, id);
      if (id === "speedups") await tab.selectOption("#speedups select", "lathe:plain");
      if (id === "speedups") await tab.waitForFunction(() => document.querySelector("#speedups .state").textContent === "");
      const labels = new Set(),
        [count] = await marks(tab, id);
      await tab.focus(`#${id} .chart`);
      for (let mark = 0; mark < count; ++mark) {
        await tab.keyboard.press("ArrowRight");
        labels.add(await tab.textContent(`#${id} .spoken`));
      }
      assert.equal(labels.size, count, id);
      assert([...labels].some((label) => label.includes(name)) && ![...labels].every((label) => label.includes(name)), id);
    }
    await show(tab, "points");
    await tab.locator("#points .body .row", { hasText: name }).first().click();
    assert.match(await tab.textContent("dialog[open] h2"), new RegExp(` on ${name}$`));
    assert.deepEqual(errors, []);
    await context.close();
  },

  async "those who hear the page get numbers as people read them, with units"() {
    const { tab, context } = await open(),
      raw = /\d\.\d{6}|\de-\d{2}/;
    for (const id of await everySection(tab)) {
      const told = await tab.$$eval(`#${id} .chart:not(.empty) .canvas`, (list) => list.map((canvas) => canvas.getAttribute("aria-label")));
      for (const text of told) {
        assert.match(text, /^[A-Z].*, [\d,]+ marks?: /, id);
        assert.doesNotMatch(text, raw, id);
      }
      if (["violins", "curves", "segments"].includes(id)) assert.match(told[0], / (ns|µs|ms|s)\b/, id);
      for (const text of await tab.$$eval(`#${id} [role=gridcell]`, (cells) => cells.map((cell) => cell.getAttribute("aria-label") ?? cell.textContent)))
        assert.doesNotMatch(text, raw, id);
    }
    const speeds = await tab.$$eval("#points .row [aria-label$=GFLOPS]", (cells) => cells.map((cell) => [cell.getAttribute("aria-label"), cell.textContent]));
    assert(speeds.length > 3);
    for (const [told, shown] of speeds) assert.equal(told, `${shown} GFLOPS`);
    await context.close();
  },

  async "long titles and narrow windows need no sideways scrolling"() {
    for (const width of [320, 360, 1280]) {
      const { tab, context } = await open({ viewport: { width, height: 800 } }, pathToFileURL(expected.turns.page).href);
      await everySection(tab);
      assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth), width);
      await context.close();
    }
  },

  async "a phone needs no sideways scrolling"() {
    const { tab, errors, context } = await open({
      viewport: { width: 390, height: 800 },
      isMobile: true,
      hasTouch: true,
    });
    await everySection(tab);
    assert(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1));
    assert.deepEqual(errors, []);
    await context.close();
  },
};

process.exitCode = await run(tests);
await browser.close();
