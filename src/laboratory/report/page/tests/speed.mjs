// node speed.mjs PAGE.html CHROMIUM: times of a report in headless Chromium, in ms, as a line of JSON for each.
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page, executablePath] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const tab = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
await tab.goto(pathToFileURL(page).href);
await tab.waitForSelector("#overview .tile");
const say = (what, ms) => console.log(JSON.stringify({ what, ms: Math.round(ms * 10) / 10 }));
say("first paint of the numbers", await tab.evaluate(() => window.latheReport.painted));

/** Nothing in the window is marked as out of date. */
const settled = () =>
  !Array.from(document.querySelectorAll("[aria-busy=true]"), (element) => element.getBoundingClientRect()).some(
    ({ top, bottom }) => bottom >= 0 && top <= innerHeight,
  );
/** Time from an action to the next frame after `done` holds and all that is in sight is right. */
async function measure(what, section, action, done) {
  if (section) {
    await tab.evaluate((id) => document.getElementById(id).scrollIntoView(), section);
    await tab.waitForSelector(`#${section} .filled`);
    await tab.waitForTimeout(1500);
  }
  await tab.waitForFunction(settled);
  say(
    what,
    await tab.evaluate(
      async ([act, wait]) => {
        const frame = () => new Promise((resume) => requestAnimationFrame(() => setTimeout(resume)));
        const ready = new Function(`return (${wait})`),
          begin = performance.now();
        new Function(act)();
        do await frame();
        while (!ready());
        return performance.now() - begin;
      },
      [action, `${done} && (${settled})()`],
    ),
  );
}
const filter = (text) =>
  `const box = document.querySelector(".filters input"); box.value = ${JSON.stringify(text)}; box.dispatchEvent(new Event("input", { bubbles: true })); window.before = document.querySelector(".filters output").textContent;`;
const filtered = "document.querySelector('.filters output').textContent !== window.before";
const choose = (selector, value) =>
  `const list = document.querySelector(${JSON.stringify(selector)}); list.value = ${JSON.stringify(value)} || list.options[1].value; list.dispatchEvent(new Event("change", { bubbles: true }));`;
const sortBy = (name) =>
  `Array.from(document.querySelectorAll("#points .head button")).find((button) => button.textContent.startsWith("${name}")).click()`;
await measure("sort by a number", "points", sortBy("GFLOPS"), "true");
await measure("sort by a text", "", sortBy("problem"), "true");
await measure("scroll the table", "", `document.querySelector("#points .scroller").scrollTop = 1e6`, "true");
await measure("filter by a word", "", filter("beta"), filtered);
await measure(
  "remove the filter",
  "",
  `window.before = document.querySelector('.filters output').textContent; document.querySelector(".filters .reset").click()`,
  filtered,
);
await measure(
  "open a point",
  "",
  `document.querySelector("#points .body .row").click()`,
  "document.querySelector('dialog[open]')",
);
await measure("close it", "", `document.querySelector("dialog").close()`, "true");
await measure(
  "next page of violins",
  "violins",
  `document.querySelector("#violins .pager button:last-child").click()`,
  "true",
);
await measure("violins by provider", "", choose("#violins select", "provider"), "true");
await measure("another baseline", "speedups", choose("#speedups select", ""), "true");
await measure("the other colours, at the roofline", "roofline", `document.querySelector(".theme").click()`, "true");
await browser.close();
