// The page of a whole store: experiments, platforms, models. Experiments are picked for a report or a comparison.
import { bytes, count, date, moment, notVerified, outOf, problemTitle, statusText } from "../data/format";
import type { Change, Entry, IndexDocument, Machine, Model } from "../data/live";
import { visible, visibleIn } from "../data/visible";
import { choice, filledBody, h, titledSection } from "../ui/dom";
import { filterForm, hasWords, searchField } from "../ui/search";
import { numberColumn, TableView, type TableColumn } from "../ui/table";
import { pageHeader } from "../ui/theme";
import { follow, FollowState } from "./follow";

/** Least time between two questions for platforms and models, in ms: where one may be new, and where only numbers grow. */
const othersPause = 5000,
  numbersPause = 20000;
export const shortId = (uuid: string): string => uuid.slice(0, 8);
export const reportAddress = (uuids: Iterable<string>): string =>
  `/report?experiment=${[...uuids].map(encodeURIComponent).join(",")}`;
const compareAddress = (before: string, after: string) =>
  `/compare?a=${encodeURIComponent(before)}&b=${encodeURIComponent(after)}`;
/** Class of the small coloured word that says the state. */
export const stateClass = (state: Entry["state"]): string => ({ running: "good", finished: "quiet", stopped: "warn" })[state];
const number = (value: number) => (value ? value.toLocaleString("en") : "");

const experimentColumns: TableColumn<Entry>[] = [
  { name: "id", width: "6.5rem", text: (e) => shortId(e.uuid), full: (e) => e.uuid, link: (e) => reportAddress([e.uuid]) },
  {
    name: "state",
    width: "7rem",
    text: (e) => e.state,
    full: (e) =>
      e.state === "running"
        ? `process ${e.pid}${e.host ? ` on ${e.host}` : ""} measures it`
        : e.state === "stopped"
          ? "its process ended before the experiment did"
          : `finished ${date(e.finished)}`,
    badge: (e) => stateClass(e.state),
  },
  { name: "started", width: "10.5rem", text: (e) => moment(e.started) },
  {
    name: "kind",
    width: "7rem",
    text: (e) => (e.kind === "imported" ? `${e.kind} (${statusText(notVerified)})` : e.kind),
  },
  numberColumn("points", "7rem", (e) => e.points, (points, e) => (e.state === "running" ? outOf(points, e.planned_points) : number(points))),
  numberColumn("passed", "6rem", (e) => e.passed, number),
  numberColumn("records", "6rem", (e) => e.records, number),
  { name: "command", width: "minmax(18rem, 3fr)", text: (e) => visible(e.command) },
  { name: "processor", width: "minmax(10rem, 1fr)", text: (e) => e.cpu },
  { name: "lathe", width: "5rem", text: (e) => e.version },
];

const platformColumns: TableColumn<Machine>[] = [
  { name: "platform", width: "minmax(16rem, 2fr)", text: (p) => p.name, full: (p) => p.key },
  numberColumn("cores", "4.5rem", (p) => p.cores, number),
  numberColumn("threads", "5.8rem", (p) => p.hardware_threads, number),
  numberColumn("memory", "6rem", (p) => p.memory_bytes, (value) => (value ? bytes(value) : "")),
  { name: "system", width: "minmax(9rem, 1fr)", text: (p) => p.kernel },
  { name: "compiler", width: "minmax(8rem, 1fr)", text: (p) => p.compiler },
  numberColumn("experiments", "7.6rem", (p) => p.experiments, number),
  numberColumn("points", "6rem", (p) => p.points, number),
  { name: "last", width: "10.5rem", text: (p) => moment(p.last) },
];

const modelColumns: TableColumn<Model>[] = [
  { name: "model", width: "minmax(20rem, 3fr)", text: (m) => problemTitle(m.text), full: (m) => m.text },
  { name: "runtimes", width: "minmax(10rem, 1fr)", text: (m) => m.providers.join(", ") },
  numberColumn("experiments", "7.6rem", (m) => m.experiments.length, number),
  numberColumn("points", "6rem", (m) => m.points, number),
  numberColumn("passed", "6rem", (m) => m.passed, number),
  { name: "last", width: "10.5rem", text: (m) => moment(m.last) },
];

/** What is shown, and what is picked. */
class Index {
  readonly entries: Map<string, Entry>;
  readonly picked = new Set<string>(); // uuids, in the order of picking
  private text = "";
  private kind = "";
  private state = "";
  private only?: { what: string; has: (entry: Entry) => boolean }; // of a platform or a model
  private readonly told = h("output", {});
  private readonly open = this.action("Open report", () => (location.href = reportAddress(this.picked)));
  private readonly compare = this.action("Compare two", () => {
    // Which was first is before, in whatever order they were picked.
    const [a, b] = [...this.picked].sort((x, y) => (this.entries.get(x)!.started < this.entries.get(y)!.started ? -1 : 1));
    location.href = compareAddress(a, b);
  });
  private readonly clear = this.action("Pick none", () => {
    this.picked.clear();
    this.show();
  });
  private readonly chosen = h("span", { class: "chosen", "aria-live": "polite" });
  private readonly narrowed = h("p", { class: "narrowed", hidden: true });
  private readonly table: TableView<Entry>;
  private readonly machines = new TableView<Machine>(
    "Platforms",
    platformColumns,
    (machine) => this.narrow(machine.name, (entry) => entry.platform === machine.key),
    8,
  );
  private readonly networks = new TableView<Model>(
    "Models",
    modelColumns,
    (model) => {
      const of = new Set(model.experiments);
      this.narrow(problemTitle(model.text), (entry) => of.has(entry.uuid));
    },
    8,
  );
  private readonly models = titledSection("models", "Models", "A row shows the experiments that measured a model.", filledBody(this.networks.element));
  private asked = 0; // when the platforms and models were last asked for, in ms
  private asking = 0; // a timer
  private due = 0; // when it ends
  private readonly about = h("p", {});
  private readonly kinds = choice("Kind", [], "", (value) => {
    this.kind = value;
    this.show();
  });

  constructor(private readonly data: IndexDocument) {
    this.entries = new Map(data.experiments.map((entry) => [entry.uuid, entry]));
    this.table = new TableView<Entry>(
      "Experiments",
      experimentColumns,
      (entry) => (location.href = reportAddress([entry.uuid])),
      16,
      {
        has: (entry) => this.picked.has(entry.uuid),
        toggle: (entry) => {
          if (!this.picked.delete(entry.uuid)) this.picked.add(entry.uuid);
          this.tell();
        },
      },
    );
  }

  private action(text: string, click: () => void): HTMLButtonElement {
    return h("button", { type: "button", click }, text);
  }

  /** Experiments that pass the filters, the newest first. */
  private rows(): Entry[] {
    return [...this.entries.values()]
      .filter(
        (entry) =>
          (!this.kind || entry.kind === this.kind) &&
          (!this.state || entry.state === this.state) &&
          (!this.only || this.only.has(entry)) &&
          hasWords(this.text, [entry.uuid, entry.kind, entry.command, entry.cpu, entry.version, entry.state]),
      )
      .sort((a, b) => (a.started < b.started ? 1 : a.started > b.started ? -1 : 0));
  }
  show(keep = false): void {
    const rows = this.rows();
    this.table.show(rows, keep);
    this.told.textContent = `${rows.length.toLocaleString("en")} of ${count(this.entries.size, "experiment")}`;
    this.tell();
  }
  private tell(): void {
    for (const uuid of this.picked) if (!this.entries.has(uuid)) this.picked.delete(uuid);
    this.open.disabled = this.picked.size === 0;
    this.compare.disabled = this.picked.size !== 2;
    this.clear.disabled = this.picked.size === 0;
    this.chosen.textContent = this.picked.size
      ? `${count(this.picked.size, "experiment")} picked`
      : "A click or Enter opens a report; the box or the space bar picks experiments.";
  }
  private narrow(what: string, has: (entry: Entry) => boolean): void {
    this.only = { what, has };
    this.narrowed.replaceChildren(
      `Only experiments of ${what} `,
      h("button", { type: "button", click: () => this.widen() }, "Show all"),
    );
    this.narrowed.hidden = false;
    this.show();
    document.getElementById("experiments")!.scrollIntoView();
  }
  private widen(): void {
    this.only = undefined;
    this.narrowed.hidden = true;
    this.show();
  }
  changed(change: Change): void {
    const ended = change.experiments.some(({ uuid, state }) => this.entries.get(uuid)?.state !== state);
    this.askSoon(ended || change.gone.length ? othersPause : numbersPause);
    for (const entry of change.experiments) this.entries.set(entry.uuid, entry);
    for (const uuid of change.gone) this.entries.delete(uuid);
    this.offerKinds();
    this.show(true);
  }

  /**
   * A run that begins or ends may bring a platform or a model, and one that goes on has more points: these are no events,
   * and are asked for when `pause` ms have passed since the last time.
   */
  private askSoon(pause: number): void {
    const due = Math.max(0, this.asked + pause - performance.now());
    if (this.asking && this.due <= performance.now() + due) return;
    clearTimeout(this.asking);
    this.due = performance.now() + due;
    this.asking = window.setTimeout(
      async () => {
        this.asking = 0;
        this.asked = performance.now();
        try {
          const answer = await fetch("/api/index");
          if (answer.ok) this.showOthers(visibleIn((await answer.json()) as IndexDocument), true);
        } catch {
          /* the line at the top says that the server does not answer */
        }
      },
      due,
    );
  }
  private showOthers({ platforms, models }: IndexDocument, keep: boolean): void {
    this.about.textContent = [this.data.live.store, count(platforms.length, "platform"), `Lathe ${this.data.lathe}`].join(" · ");
    this.machines.show(platforms, keep);
    this.networks.show(
      [...models].sort((a, b) => (a.last < b.last ? 1 : -1)),
      keep,
    );
    this.models.hidden = !models.length;
  }

  /** The kinds of the experiments that there are now. */
  private offerKinds(): void {
    const select = this.kinds.querySelector("select")!,
      list = ["", ...[...new Set(Array.from(this.entries.values(), (entry) => entry.kind))].sort()];
    if (list.length === select.length && list.every((kind, index) => select.options[index].value === kind)) return;
    select.replaceChildren(...list.map((kind) => h("option", { value: kind }, kind || "all")));
    if (!list.includes(this.kind)) this.kind = "";
    select.value = this.kind;
  }
  private filters(): HTMLElement {
    const select = (label: string, list: string[], set: (value: string) => void) =>
      choice(label, [["", "all"], ...list.map((value): [string, string] => [value, value])], "", (value) => {
        set(value);
        this.show();
      });
    return filterForm(
      searchField("command, processor, id", (text) => {
        this.text = text;
        this.show();
      }),
      this.kinds,
      select("State", ["running", "finished", "stopped"], (value) => (this.state = value)),
      this.told,
    );
  }
  mount(host: HTMLElement, state: FollowState): void {
    const sections = [
      titledSection(
        "experiments",
        "Experiments",
        "",
        filledBody(h("div", { class: "controls" }, this.open, this.compare, this.clear, this.chosen), this.narrowed, this.table.element),
      ),
      titledSection("platforms", "Platforms", "A row shows the experiments of a machine.", filledBody(this.machines.element)),
      this.models,
    ];
    host.replaceChildren(
      h("a", { class: "skip", href: "#experiments" }, "Skip to the experiments"),
      pageHeader("Measurements", this.about),
      state.element,
      h(
        "div",
        { class: "bar" },
        h(
          "nav",
          { "aria-label": "Sections" },
          h("a", { href: "#experiments" }, "Experiments"),
          h("a", { href: "#platforms" }, "Platforms"),
          h("a", { href: "#models" }, "Models"),
          h("a", { href: "/report" }, "Report of everything"),
        ),
        this.filters(),
      ),
      h("main", {}, ...sections),
    );
    this.offerKinds();
    this.show();
    this.showOthers(this.data, false);
  }
}

export function startIndex(host: HTMLElement, data: IndexDocument): void {
  document.title = `${data.live.store} · Lathe`;
  const index = new Index(data),
    state = new FollowState();
  index.mount(host, state);
  follow(
    data.live.position,
    (change) => {
      state.troubled(change.trouble);
      if (change.experiments.length || change.gone.length) index.changed(change);
    },
    (is) => state.connected(is),
  );
}
