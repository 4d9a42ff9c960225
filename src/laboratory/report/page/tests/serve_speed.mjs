// node serve_speed.mjs ADDRESS CHROMIUM: first paints of the pages of lathe serve in headless Chromium, in ms from the
// request, as a line of JSON for each.
import { chromium } from "playwright-core";

const [address, executablePath] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const say = (what, ms) => console.log(JSON.stringify({ what, ms: Math.round(ms * 10) / 10 }));
for (const [what, path] of [
  ["list of a store, first paint", "/"],
  ["list again", "/"],
  ["report of everything, first paint", "/report"],
  ["report again, store unchanged", "/report"],
]) {
  const tab = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  await tab.goto(address + path);
  await tab.waitForFunction(() => window.latheReport?.painted > 0);
  const [seen, numbers] = await tab.evaluate(() => [
    performance.getEntriesByName("first-contentful-paint")[0].startTime, // a large report says first what it reads
    window.latheReport.painted,
  ]);
  if (what.startsWith("report of")) say(what, seen);
  say(what.startsWith("report of") ? `${what} of the numbers` : what, numbers);
  await tab.context().close();
}
await browser.close();
