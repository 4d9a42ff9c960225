// node serve.mjs ADDRESS EXPECTED.json CHROMIUM: drives the pages of lathe serve in headless Chromium.
// EXPECTED.json is written by cli/tests/serve_browser_test.py, which adds points when this program prints "add" lines.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { run } from "./run.mjs";
import { openAt } from "./tab.mjs";

const [address, expectedFile, executablePath] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** Asks the caller to do something to the store, and waits until it is done. */
async function ask(what) {
  console.log(`ask ${what}`);
  await answers.next();
}

/** A tab of the server, which at its end may have asked for nothing else and had no errors. */
async function open(path, options) {
  const { tab, requests, errors, context } = await openAt(browser, options, address + path);
  return {
    tab,
    context,
    async close() {
      assert.deepEqual(errors, []);
      assert.deepEqual(
        requests.filter((url) => !url.startsWith(address) && !url.startsWith("data:")),
        [],
      );
      assert.equal(await tab.evaluate(() => window.hacked), undefined);
      assert.equal(await tab.evaluate(() => document.images.length), 0);
      await context.close();
    },
  };
}
const rowCount = (count) => (tab, id) =>
  tab.waitForFunction(([name, wanted]) => document.querySelector(`#${name} .scroller`)?.getAttribute("aria-rowcount") === String(wanted + 1), [
    id,
    count,
  ]);
const column = (tab, id, name) =>
  tab.$eval(
    `#${id} .scroller`,
    (table, wanted) => {
      const at = Array.from(table.querySelectorAll(".head > div")).findIndex((cell) => cell.textContent.startsWith(wanted));
      return Array.from(table.querySelectorAll(".body .row"), (row) => row.children[at].textContent);
    },
    name,
  );
const header = (tab, id, name) => tab.locator(`#${id} .head button`, { hasText: name }).first();
const total = expected.experiments.length;

const tests = {
  async "the list has every experiment, platform and model"() {
    const { tab, close } = await open("/");
    await rowCount(total)(tab, "experiments");
    const ids = await column(tab, "experiments", "id");
    assert.deepEqual([...ids].sort(), expected.experiments.map(({ uuid }) => uuid.slice(0, 8)).sort());
    assert.equal(ids[0], expected.b.slice(0, 8)); // the newest
    await rowCount(1)(tab, "platforms");
    assert.deepEqual(await column(tab, "models", "model"), [expected.hostile]);
    await close();
  },

  async "it sorts and filters"() {
    const { tab, close } = await open("/");
    await header(tab, "experiments", "points").click();
    const up = (await column(tab, "experiments", "points")).filter(Boolean).map(parseFloat);
    assert.deepEqual(up, [...up].sort((a, b) => a - b));
    await header(tab, "experiments", "points").click();
    const down = (await column(tab, "experiments", "points")).filter(Boolean).map(parseFloat);
    assert.deepEqual(down, [...up].reverse());
    await tab.keyboard.press("/");
    await tab.selectOption(".filters select", "tune");
    await rowCount(1)(tab, "experiments");
    await tab.selectOption(".filters select", "");
    await tab.fill(".filters input", "onerror");
    await rowCount(1)(tab, "experiments");
    assert.equal((await column(tab, "experiments", "command"))[0], expected.hostile);
    await tab.fill(".filters input", "");
    await rowCount(total)(tab, "experiments");
    await tab.click("#models .body .row");
    await rowCount(1)(tab, "experiments");
    await tab.click(".narrowed button");
    await rowCount(total)(tab, "experiments");
    await close();
  },

  async "keys pick two, which are compared with verdicts"() {
    const { tab, close } = await open("/");
    await tab.fill(".filters input", "ops bench");
    await rowCount(2)(tab, "experiments");
    assert(await tab.locator("button", { hasText: "Compare two" }).isDisabled());
    await tab.focus("#experiments .scroller");
    for (const key of [" ", "ArrowDown", " "]) await tab.keyboard.press(key);
    assert.equal(await tab.locator("#experiments .row[aria-selected=true]").count(), 2);
    await tab.click("button:has-text('Compare two')");
    await tab.waitForSelector("#compared .body .row");
    assert.equal(await tab.locator("h1").textContent(), `Experiments ${expected.a.slice(0, 8)} and ${expected.b.slice(0, 8)}`);
    const words = expected.verdicts,
      shown = await column(tab, "compared", "verdict");
    assert.deepEqual(shown, words);
    const ratios = (await column(tab, "compared", "speedup")).filter(Boolean);
    assert.deepEqual(ratios, expected.ratios);
    const [plain] = words[0].split(" ("); // the filter takes the verdict, whatever its reason
    await tab.selectOption(".filters select", plain);
    await rowCount(words.filter((word) => word.startsWith(plain)).length)(tab, "compared");
    await close();
  },

  async "boxes pick several, whose report opens"() {
    const { tab, close } = await open("/");
    await rowCount(total)(tab, "experiments");
    for (const place of [0, 2]) await tab.locator("#experiments .row .pick input").nth(place).click();
    await tab.click("button:has-text('Open report')");
    await tab.waitForSelector("#overview .tile");
    assert.equal(await tab.evaluate(() => window.latheReport.data.document.experiments.length), 2);
    const ids = await tab.$$eval("main > section", (list) => list.map((section) => section.id));
    for (const id of ids) {
      await tab.evaluate((name) => document.getElementById(name).scrollIntoView(), id);
      await tab.waitForSelector(`#${id} .filled`);
    }
    await tab.click(".live a");
    await rowCount(total)(tab, "experiments");
    await tab.focus("#experiments .scroller");
    await tab.keyboard.press("Enter");
    await tab.waitForSelector("#overview");
    assert(tab.url().includes("/report?experiment="));
    await close();
  },

  async "what is not there is said on a page"() {
    const { tab, context } = await open("/compare?a=zz&b=zz"); // its status is an error for the console
    assert.match(await tab.textContent("header"), /begins with 'zz'/);
    await context.close();
  },

  async "a run is followed in list and report"() {
    const list = await open("/"),
      report = await open(`/report?experiment=${expected.running}`);
    await list.tab.waitForSelector("#experiments .badge.good");
    await report.tab.waitForSelector(".live .badge.good");
    assert.match(await report.tab.textContent(".live"), /running bench .*: process \d+ .* 1 of 9 points/);
    await report.tab.evaluate(() => (window.same = true)); // the page is not loaded again
    await report.tab.fill(".filters input", "point");
    await report.tab.evaluate(() => document.activeElement.blur());
    const begin = Date.now();
    await ask("point");
    await report.tab.waitForFunction(() => window.latheReport.data.count === 2, undefined, { polling: 50 });
    console.log(`a new point was shown after ${Date.now() - begin} ms`);
    await report.tab.waitForFunction(() => / 2 of 9 points · .* a minute · .* · about .* left/.test(document.querySelector(".live").textContent));
    assert.equal(await report.tab.inputValue(".filters input"), "point");
    await list.tab.waitForFunction(() => Array.from(document.querySelectorAll("#experiments .row")).some((row) => row.textContent.includes("running") && row.children[5].textContent === "2 of 9"));
    // A reader who looks at a point is not disturbed.
    await report.tab.evaluate(() => document.getElementById("points").scrollIntoView());
    await report.tab.click("#points .body .row");
    await report.tab.waitForSelector("dialog[open]");
    await ask("point");
    await report.tab.waitForSelector(".live button:not([hidden])", { state: "attached" });
    assert.equal(await report.tab.evaluate(() => window.latheReport.data.count), 2);
    await report.tab.keyboard.press("Escape");
    await report.tab.evaluate(() => scrollTo(0, 0));
    await report.tab.click(".live button");
    await report.tab.waitForFunction(() => window.latheReport.data.count === 3);
    await ask("kill");
    await report.tab.waitForSelector(".live .badge.warn");
    assert.match(await report.tab.textContent(".live"), /its process ended before the experiment did/);
    await list.tab.waitForSelector("#experiments .badge.warn");
    assert.equal(await report.tab.evaluate(() => window.same), true);
    await list.close();
    await report.close();
  },

  async "platforms and kinds follow the experiments"() {
    const { tab, close } = await open("/");
    await rowCount(total)(tab, "experiments");
    // Long pauses are short here.
    await tab.evaluate(() => {
      const wait = window.setTimeout;
      window.setTimeout = (work, pause) => wait(work, Math.min(pause, 300));
    });
    const kinds = () => tab.$eval(".filters select", (select) => Array.from(select.options, ({ value }) => value));
    assert(!(await kinds()).includes("quantize"));
    const points = Number((await column(tab, "platforms", "points"))[0]);
    await ask("point"); // the state of no experiment changes
    await tab.waitForFunction(
      (count) => document.querySelector("#platforms .body .row").textContent.includes(String(count)),
      points + 1,
    );
    await ask("kind");
    await rowCount(total + 1)(tab, "experiments");
    assert((await kinds()).includes("quantize"));
    await tab.selectOption(".filters select", "quantize");
    await rowCount(1)(tab, "experiments");
    await close();
  },

  async "a phone needs no sideways scrolling"() {
    for (const path of ["/", `/compare?a=${expected.a}&b=${expected.b}`]) {
      const { tab, close } = await open(path, { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true });
      await tab.waitForSelector(".body .row");
      assert(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), path);
      await close();
    }
  },
};

const code = await run(tests);
await browser.close();
process.exit(code); // standard input is still open
