// The state of the page: which points are shown, in which colours, and who is told of changes.
import type { Look } from "../charts/plot";
import type { Dataset, Statistic } from "../data/dataset";
import { isDark } from "./theme";

export interface Filter {
  text: string; // every word occurs in problem, column, setting, reason or implementation
  kind: string; // "": any
  operator: string;
  provider: string;
  threads: string;
  status: string;
  superseded: boolean; // also points that were measured again later
  statistic: Statistic; // what stands for the time of a point
}

export const everything: Filter = {
  text: "",
  kind: "",
  operator: "",
  provider: "",
  threads: "",
  status: "",
  superseded: false,
  statistic: "median",
};

export class View {
  filter: Filter = { ...everything };
  /** Points that pass the filter, in the order of measuring. */
  points: number[] = [];
  /** A number for the colour of each column, the same in all plots. */
  readonly colours = new Map<string, number>();
  private readonly listeners = new Set<() => void>();
  private readonly painters = new Set<() => boolean>();

  constructor(
    readonly data: Dataset,
    readonly open: (point: number) => void,
  ) {
    this.choosePoints();
    for (const column of data.columns) this.colours.set(column, this.colours.size);
    for (let i = 0; i < data.document.settings.length; ++i)
      if (data.document.settings[i].schedule)
        for (const column of data.columns) {
          const name = `${column} · ${data.document.settings[i].schedule}`;
          if (!this.colours.has(name)) this.colours.set(name, this.colours.size);
        }
  }

  get dark(): boolean {
    return isDark();
  }
  look(width: number): Look {
    return { dark: this.dark, width, still: false };
  }
  onChange(listener: () => void): void {
    this.listeners.add(listener);
  }
  /** `paint` is told of other colours until it returns false. */
  onColours(paint: () => boolean): void {
    this.painters.add(paint);
  }
  coloursChanged(): void {
    for (const paint of this.painters) if (!paint()) this.painters.delete(paint);
  }
  private changed(): void {
    for (const listener of this.listeners) listener();
  }
  setFilter(change: Partial<Filter>): void {
    this.filter = { ...this.filter, ...change };
    this.data.statistic = this.filter.statistic;
    this.choosePoints();
    this.changed();
  }

  /** For every problem, setting, text and column once, not for every point. */
  private choosePoints(): void {
    const { data, filter } = this,
      { document } = data;
    const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
    const lower = <T>(list: T[], text: (item: T) => string) => list.map((item) => text(item).toLowerCase());
    const problems = words.length ? lower(document.problems, (problem) => `${problem.operator} ${problem.text}`) : [];
    const settings = words.length ? lower(document.settings, (setting) => `${setting.text} ${setting.schedule}`) : [];
    const texts = words.length ? lower(document.texts, (text) => text) : [];
    const columns = words.length ? lower(data.columns, (text) => text) : [];
    const hit = words.map((word) => {
      const has = (list: string[]) => Uint8Array.from(list, (text) => (text.includes(word) ? 1 : 0));
      return { problems: has(problems), settings: has(settings), texts: has(texts), columns: has(columns) };
    });
    const accepts = <T>(list: T[], wanted: string, text: (item: T) => string) =>
      Uint8Array.from(list, (item) => (!wanted || text(item) === wanted ? 1 : 0));
    const kind = accepts(document.experiments, filter.kind, (experiment) => experiment.kind);
    const operator = accepts(document.problems, filter.operator, (problem) => problem.operator);
    const threads = accepts(document.settings, filter.threads, (setting) => String(setting.threads));
    const provider = accepts(document.texts, filter.provider, (text) => text);
    const status = accepts(document.texts, filter.status, (text) => text);
    const of = (name: Parameters<Dataset["column"]>[0]) => data.column(name);
    const [e, p, s, r, t, i, why, current] = [
      of("experiment"),
      of("problem"),
      of("setting"),
      of("provider"),
      of("status"),
      of("implementation"),
      of("reason"),
      of("current"),
    ];
    const found: number[] = [];
    for (let point = 0; point < data.count; ++point) {
      if (!filter.superseded && !current[point]) continue;
      if (!kind[e[point]] || !operator[p[point]] || !threads[s[point]] || !provider[r[point]] || !status[t[point]])
        continue;
      let all = true;
      for (const { problems: a, settings: b, texts: c, columns: d } of hit)
        if (!a[p[point]] && !b[s[point]] && !c[i[point]] && !c[why[point]] && !d[data.columnOf[point]]) {
          all = false;
          break;
        }
      if (all) found.push(point);
    }
    this.points = found;
  }
}

export interface Section {
  id: string;
  title: string;
  note: string; // what is shown, in a sentence or two
  applies(view: View): boolean;
  /** Fills `host` and returns what brings it up to date. */
  mount(host: HTMLElement, view: View): () => void;
}
