// node serve_speed.mjs ADDRESS CHROMIUM: first paints of the pages of lathe serve in headless Chromium, in ms from the
// request, as a line of JSON for each.
import { chromium } from "playwright-core";

const [address, executablePath] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const [what, path] of [
  ["list of a store, first paint", "/"],
  ["list again", "/"],
  ["report of everything, first paint", "/report"],
  ["report again, store unchanged", "/report"],
]) {
  const tab = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  await tab.goto(address + path);
  await tab.waitForFunction(() => window.latheReport?.painted > 0);
  console.log(JSON.stringify({ what, ms: Math.round((await tab.evaluate(() => window.latheReport.painted)) * 10) / 10 }));
  await tab.context().close();
}
await browser.close();
