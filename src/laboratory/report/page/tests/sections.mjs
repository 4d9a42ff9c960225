// node sections.mjs WANTED.json CHROMIUM: screenshots of single sections. WANTED.json is a list of
// {page: file or address, section: id or "" for what is in sight, width, height: at most so many pixels, dark, file}.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [wanted, executablePath] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
for (const { page, section, width, height, dark, file } of JSON.parse(readFileSync(wanted, "utf8"))) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
  });
  const tab = await context.newPage();
  const failures = [];
  tab.on("pageerror", (error) => failures.push(String(error)));
  await tab.goto(page.includes("://") ? page : pathToFileURL(page).href);
  if (section) {
    await tab.addStyleTag({ content: "header { position: static !important }" }); // it would cover the section
    await tab.evaluate((id) => document.getElementById(id).scrollIntoView(), section);
    if (await tab.$(`#${section} .section-body`)) await tab.waitForSelector(`#${section} .filled`);
    await tab.waitForFunction((id) => !document.querySelector(`#${id} [aria-busy=true]`), section);
    await tab.waitForTimeout(700);
    await tab.evaluate((id) => document.getElementById(id).scrollIntoView(), section); // others were filled above it
    const box = await tab.locator(`#${section}`).boundingBox(),
      y = Math.max(0, box.y);
    const clip = { x: box.x, y, width: box.width, height: Math.min(box.y + box.height, height) - y };
    await tab.screenshot({ path: file, clip });
  } else {
    await tab.waitForTimeout(1000);
    await tab.screenshot({ path: file });
  }
  if (failures.length) throw new Error(`${page}, ${section}: ${failures.join("; ")}`);
  await context.close();
}
await browser.close();
