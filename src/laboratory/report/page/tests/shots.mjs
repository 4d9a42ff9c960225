// node shots.mjs PAGE.html FOLDER: screenshots at the widths and in the colours that reports are looked at in.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page, folder, only] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const width of [390, 1280, 1920])
  for (const colorScheme of ["light", "dark"]) {
    if (only && !`${width}-${colorScheme}`.startsWith(only)) continue;
    const context = await browser.newContext({ viewport: { width, height: 1000 }, colorScheme });
    const tab = await context.newPage();
    await tab.goto(pathToFileURL(page).href);
    // Sections are filled when they come into sight.
    for (let seen = 0; seen < (await tab.evaluate(() => document.documentElement.scrollHeight)); seen += 600) {
      await tab.evaluate((top) => scrollTo(0, top), seen);
      await tab.waitForTimeout(120);
    }
    await tab.evaluate(() => scrollTo(0, 0));
    await tab.waitForTimeout(300);
    await tab.screenshot({ path: join(folder, `${width}-${colorScheme}.png`), fullPage: true });
    await context.close();
  }
await browser.close();
