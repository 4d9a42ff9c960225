// A report that follows its experiments: a line says how far they are, and new points come into the page.
import { Dataset } from "../data/dataset";
import { count, date, digits, outOf, wait } from "../data/format";
import type { Change, Entry } from "../data/live";
import type { Document } from "../data/schema";
import { startApp, type App } from "../ui/app";
import { h } from "../ui/dom";
import { follow, FollowState } from "./follow";
import { shortId, stateClass } from "./index";

const least = 1000, // ms between two updates
  share = 4, // an update takes at most one part of so many of the time
  window_ = 60000; // ms over which the rate is measured

/** Progress of one experiment, as far as this page has seen it. */
class Progress {
  private readonly seen: [number, number][] = []; // time in ms, points and records
  readonly element = h("li", {});
  constructor(public entry: Entry) {
    this.add(entry);
  }
  add(entry: Entry): void {
    this.entry = entry;
    this.seen.push([performance.now(), entry.points + entry.records]);
    while (this.seen.length > 2 && this.seen[1][0] < performance.now() - window_) this.seen.shift();
    this.tell();
  }
  /** Points and records a minute; 0: not known yet. */
  private pace(): number {
    const [begin, end] = [this.seen[0], this.seen[this.seen.length - 1]],
      minutes = (performance.now() - begin[0]) / 60000;
    return minutes > 0.02 ? (end[1] - begin[1]) / minutes : 0;
  }
  tell(): void {
    const { entry } = this,
      points = entry.planned_points ? `${outOf(entry.points, entry.planned_points)} points` : count(entry.points, "point"),
      pace = this.pace(),
      last = Math.round((performance.now() - this.seen[this.seen.length - 1][0]) / 1000);
    const parts = [
      [entry.points || !entry.records ? points : "", entry.records ? count(entry.records, "tuning record") : ""]
        .filter(Boolean)
        .join(", "),
    ];
    if (entry.state === "running") {
      parts.unshift(`process ${entry.pid}${entry.host ? ` on ${entry.host}, which cannot be asked` : ""}`);
      const missing = (entry.planned_points ?? 0) - entry.points;
      parts.push(
        pace ? `${digits(pace, 2)} a minute` : "",
        this.seen.length > 1 ? `last ${last} s ago` : "",
        pace && missing > 0 ? `${wait((missing / pace) * 60)} left` : "",
      );
    } else if (entry.state === "finished") parts.push(`ended ${date(entry.finished)}`);
    else parts.push("its process ended before the experiment did");
    this.element.replaceChildren(
      h("span", { class: `badge ${stateClass(entry.state)}` }, entry.state),
      ` ${entry.kind} ${shortId(entry.uuid)}: ${parts.filter(Boolean).join(" · ")}`,
    );
  }
}

class LiveReport {
  private readonly wanted: Set<string> | undefined; // uuids; undefined: all
  private readonly progress = new Map<string, Progress>();
  private readonly list = h("ul", {});
  private readonly news = h("button", { type: "button", hidden: true, click: () => void this.update() });
  private readonly state = new FollowState();
  private readonly strip = h(
    "div",
    { class: "live" },
    h("a", { href: "/" }, "All experiments"),
    this.list,
    this.news,
    this.state.element,
  );
  private app: App;
  private shown?: number; // points and records that the page has, as events count them
  private touched = false; // the reader has changed something in a section, which an update would undo
  private updating = false;
  private next = 0; // earliest time of the next update
  private timer = 0;

  constructor(
    private readonly host: HTMLElement,
    data: Dataset,
  ) {
    if (new URLSearchParams(location.search).has("experiment"))
      this.wanted = new Set(data.document.experiments.map(({ uuid }) => uuid));
    this.app = startApp(host, data, { above: this.strip });
    const parameters = [...new URLSearchParams(location.search).keys()];
    if (parameters.every((name) => name === "experiment")) this.shown = data.count + data.document.tuning.count;
    for (const type of ["change", "click", "keydown"])
      host.addEventListener(type, (event) => {
        if ((event.target as HTMLElement).closest?.("main")) this.touched = true;
      });
    // From the beginning: what runs is told of before it changes.
    follow("", (change) => this.changed(change), (is) => this.state.connected(is));
    setInterval(() => this.tick(), 1000);
  }

  private changed(change: Change): void {
    this.state.troubled(change.trouble);
    let ended = false;
    for (const entry of change.experiments) {
      if (this.wanted && !this.wanted.has(entry.uuid)) continue;
      let progress = this.progress.get(entry.uuid);
      ended ||= progress?.entry.state === "running" && entry.state !== "running";
      if (progress) progress.add(entry);
      else this.progress.set(entry.uuid, (progress = new Progress(entry)));
      if (entry.state === "running" || (this.wanted && entry.state === "stopped")) this.list.append(progress.element);
    }
    this.shown ??= this.told;
    if (ended || this.told !== this.shown) this.soon();
  }
  /** Points and records that the events have told of. */
  private get told(): number {
    let told = 0;
    for (const { entry } of this.progress.values()) told += entry.points + entry.records;
    return told;
  }
  private tick(): void {
    for (const progress of this.progress.values()) if (progress.entry.state === "running") progress.tell();
    if (!this.news.hidden && !this.held) this.soon(); // the reader is done with what held it
  }

  /** Whether an update now would take from the reader what is being looked at. */
  private get held(): boolean {
    const active = document.activeElement;
    return (
      this.touched ||
      !!document.querySelector("dialog[open]") ||
      (active instanceof HTMLElement && !!active.closest(".filters"))
    );
  }
  private soon(): void {
    if (this.held) {
      this.news.textContent = "Show the new points";
      this.news.hidden = false;
    } else if (!this.updating && !this.timer)
      this.timer = window.setTimeout(() => void this.update(), Math.max(0, this.next - performance.now()));
  }
  async update(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.updating) return this.soon();
    this.updating = true;
    const begin = performance.now(),
      { told } = this;
    try {
      const answer = await fetch(`/api/report${location.search}`);
      if (!answer.ok) throw new Error(((await answer.json()) as { message: string }).message);
      const data = new Dataset((await answer.json()) as Document);
      const { scrollY } = window;
      this.app = startApp(this.host, data, { ...this.app.stop(), above: this.strip });
      window.scrollTo({ top: scrollY, behavior: "instant" });
      this.shown = told;
      this.state.troubled(""); // an earlier update may have failed
      window.latheReport = { data, painted: window.latheReport?.painted ?? NaN };
      this.touched = false;
      this.news.hidden = true;
    } catch (error) {
      this.state.troubled(error instanceof Error ? error.message : String(error));
    }
    this.updating = false;
    this.next = performance.now() + Math.max(least, (performance.now() - begin) * share);
    if (this.told !== this.shown) this.soon(); // what came meanwhile, or once more after an error
  }
}

export function startLiveReport(host: HTMLElement, data: Dataset): void {
  new LiveReport(host, data);
}
