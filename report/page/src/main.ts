// The page: reads the document, shows filters and sections.
import "./style/page.css";
import "./style/parts.css";
import "./style/narrow.css";
import { Dataset } from "./data/dataset";
import type { Document } from "./data/schema";
import { startApp } from "./ui/app";
import { later } from "./ui/work";

declare global {
  interface Window {
    /** For tests and scripts: the data, and when the first numbers were painted (ms after the start of loading). */
    latheReport?: { data: Dataset; painted: number };
  }
}

function start(): void {
  const host = document.getElementById("app")!,
    element = document.getElementById("lathe-data")!;
  try {
    const data = new Dataset(JSON.parse(element.textContent ?? "") as Document);
    element.remove(); // its text is in memory once
    const report = (window.latheReport = { data, painted: NaN });
    startApp(host, data);
    requestAnimationFrame(() =>
      setTimeout(() => {
        report.painted = performance.now();
        for (const piece of data.preparations()) later(piece);
      }),
    );
  } catch (error) {
    host.textContent = `The report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    throw error;
  }
}

start();
