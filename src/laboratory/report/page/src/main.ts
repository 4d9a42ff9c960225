// The page: reads the document, shows filters and sections. `lathe serve` also sends lists and comparisons with it.
import "./style/page.css";
import "./style/parts.css";
import "./style/live.css";
import "./style/narrow.css";
import { bytesOf } from "./data/columns";
import { Dataset } from "./data/dataset";
import type { CompareDocument, ErrorDocument, IndexDocument, Live } from "./data/live";
import type { Document } from "./data/schema";
import { visibleIn } from "./data/visible";
import { startCompare } from "./live/compare";
import { startIndex } from "./live/index";
import { startLiveReport } from "./live/report";
import { startApp } from "./ui/app";
import { h } from "./ui/dom";
import { pageHeader } from "./ui/theme";
import { later } from "./ui/work";

declare global {
  interface Window {
    /** For tests and scripts: the data, and when the first numbers were painted (ms after the start of loading). */
    latheReport?: { data?: Dataset; painted: number };
  }
}

type AnyDocument = (Document & { live?: Live }) | IndexDocument | CompareDocument | ErrorDocument;
const isReport = (document: AnyDocument): document is Document & { live?: Live } =>
  !document.live || document.live.page === "report";

function startError(host: HTMLElement, { message, status }: ErrorDocument): void {
  const again = status >= 500; // nothing is wrong with the address
  host.replaceChildren(
    pageHeader(again ? "This page cannot be shown now" : "There is no such page", message),
    h(
      "main",
      {},
      again ? h("p", {}, h("a", { href: location.pathname + location.search }, "Try again")) : null,
      h("p", {}, h("a", { href: "/" }, "All experiments")),
    ),
  );
}

/** Returns what is left to do in quiet moments. */
function show(host: HTMLElement, document: AnyDocument): Dataset | undefined {
  if (isReport(document)) {
    const data = new Dataset(document);
    if (document.live) startLiveReport(host, data);
    else startApp(host, data);
    return data;
  }
  const shown = visibleIn(document);
  if (shown.live.page === "index") startIndex(host, shown as IndexDocument);
  else if (shown.live.page === "compare") startCompare(host, shown as CompareDocument);
  else startError(host, shown as ErrorDocument);
  return undefined;
}

/** Files have the document compressed, `lathe serve` sends it as JSON. */
async function documentOf(text: string): Promise<AnyDocument> {
  if (text.startsWith("{")) return JSON.parse(text) as AnyDocument;
  if (!("DecompressionStream" in window)) throw new Error("it needs a browser of May 2023 or later");
  return new Response(new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

async function start(): Promise<void> {
  const host = document.getElementById("app")!,
    element = document.getElementById("lathe-data")!;
  try {
    const content = await documentOf(element.textContent ?? "");
    element.remove(); // its text is in memory once
    const data = show(host, content);
    const report = (window.latheReport = { data, painted: NaN });
    requestAnimationFrame(() =>
      setTimeout(() => {
        report.painted = performance.now();
        for (const piece of data?.preparations() ?? []) later(piece);
      }),
    );
  } catch (error) {
    host.textContent = `The report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    throw error;
  }
}

void start();
