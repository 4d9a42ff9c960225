// A tab with a report, and what its sections, plots and tables show.
/** A tab at an address, whose requests and errors are collected. */
export async function openAt(browser, options, url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const tab = await context.newPage(),
    requests = [],
    errors = [];
  tab.on("request", (request) => requests.push(request.url()));
  tab.on("pageerror", (error) => errors.push(String(error)));
  tab.on("console", (message) => ["error", "warning"].includes(message.type()) && errors.push(message.text()));
  await tab.goto(url);
  return { tab, requests, errors, context };
}
/** Such a tab with a report that is shown. */
export async function openTab(browser, options, url) {
  const opened = await openAt(browser, options, url);
  await opened.tab.waitForSelector("#overview .tile");
  return opened;
}
/** Brings a section into sight and waits until it is filled. */
export async function show(tab, id) {
  await tab.evaluate((name) => document.getElementById(name).scrollIntoView(), id);
  await tab.waitForSelector(`#${id} .filled`);
  await tab.waitForFunction((name) => !document.querySelector(`#${name} [aria-busy=true]`), id);
  await tab.waitForTimeout(60);
}
export async function everySection(tab) {
  const ids = await tab.$$eval("main > section", (list) => list.map((section) => section.id));
  for (const id of ids) await show(tab, id);
  return ids;
}
export const marks = (tab, id) => tab.$$eval(`#${id} .chart`, (list) => list.map((chart) => Number(chart.dataset.marks)));
export const rowCount = async (tab, id) => Number(await tab.getAttribute(`#${id} .scroller`, "aria-rowcount")) - 1;
/** The texts of a column in the rows in sight. */
export const column = (tab, id, name) =>
  tab.$eval(
    `#${id} .scroller`,
    (table, wanted) => {
      const at = Array.from(table.querySelectorAll(".head > div")).findIndex((cell) =>
        cell.textContent.startsWith(wanted),
      );
      return Array.from(table.querySelectorAll(".body .row"), (row) => row.children[at].textContent);
    },
    name,
  );
export const header = (tab, id, name) => tab.locator(`#${id} .head button`, { hasText: name }).first();
