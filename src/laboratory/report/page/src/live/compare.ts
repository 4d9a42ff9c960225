// Two experiments beside each other. The ratios and verdicts come with the data: they are those of `lathe ops diff`.
import { count, date, digits, interval, problemTitle, ratio, statusText, time, verdictText } from "../data/format";
import type { Change, CompareDocument, ComparedPoint, ComparedSide } from "../data/live";
import { choice, commandLine, facts, filledBody, h, tile, titledSection } from "../ui/dom";
import { filterForm, hasWords, searchField } from "../ui/search";
import { numberColumn, TableView, type TableColumn } from "../ui/table";
import { pageHeader } from "../ui/theme";
import { follow, FollowState } from "./follow";
import { reportAddress, shortId } from "./index";

/** The verdict, or what keeps two points from being compared. */
function outcome(point: ComparedPoint): string {
  if (!point.after) return "only before";
  if (!point.before) return "only after";
  if (point.verdict) return point.verdict;
  const [before, after] = [statusText(point.before.status), statusText(point.after.status)];
  return before === after ? after : `${before} → ${after}`;
}
const outcomeClass = (text: string): string =>
  ({ faster: "good", slower: "bad", same: "quiet", ambiguous: "warn" })[text] ?? (text.includes("→") ? "bad" : "quiet");
const seconds = (milliseconds: number | undefined) => (milliseconds ?? NaN) * 1e-3;

const columns: TableColumn<ComparedPoint>[] = [
  { name: "problem", width: "minmax(17rem, 3fr)", text: (p) => problemTitle(p.problem), full: (p) => p.problem },
  { name: "column", width: "minmax(9rem, 1.3fr)", text: (p) => p.column },
  { name: "setting", width: "minmax(8rem, 1fr)", text: (p) => p.setting_text },
  numberColumn("before", "6.4rem", (p) => seconds(p.before?.median_ms), time),
  numberColumn("after", "6.4rem", (p) => seconds(p.after?.median_ms), time),
  numberColumn("speedup", "6.4rem", (p) => p.ratio ?? NaN, ratio),
  numberColumn("95 % interval", "11rem", (p) => (p.ratio ? p.ratio_high! - p.ratio_low! : NaN), (_width, p) => interval({ low: p.ratio_low!, high: p.ratio_high!, isRange: p.confidence === null })),
  {
    name: "verdict",
    width: "14.5rem",
    text: (p) => verdictText({ verdict: outcome(p), because: p.ambiguous_because }),
    badge: (p) => outcomeClass(outcome(p)),
  },
  { name: "schedule", width: "minmax(8rem, 1fr)", text: (p) => p.schedule },
  { name: "reason", width: "minmax(8rem, 1fr)", text: (p) => p.after?.reason || p.before?.reason || "" },
];

function tiles(data: CompareDocument): HTMLElement {
  const mean = data.geometric_mean;
  return h(
    "div",
    { class: "tiles" },
    mean
      ? tile(`${mean.toFixed(3)}×`, "geometric mean of the speedups", interval({ low: data.geometric_mean_low!, high: data.geometric_mean_high!, isRange: !!data.geometric_mean_is_range }))
      : null,
    tile(String(data.faster), "faster"),
    tile(String(data.slower), "slower"),
    tile(String(data.same), "same"),
    tile(String(data.ambiguous), "ambiguous"),
    tile(String(data.only_before + data.only_after), "without a partner", `${data.only_before} before, ${data.only_after} after`),
  );
}

function card(title: string, side: ComparedSide): HTMLElement {
  return h(
    "article",
    { class: "card" },
    h("h3", {}, `${title}: ${side.kind} ${shortId(side.uuid)}`),
    facts([
      ["points", side.points.toLocaleString("en")],
      ["started", date(side.started)],
      ["finished", side.finished ? date(side.finished) : "not finished"],
      ["platform", side.platform_name],
      ["lathe", `${side.version} (${side.build})`],
      ["other programs", side.other_processors == null ? "" : `${digits(side.other_processors, 3)} processors busy`],
    ]),
    commandLine(side.command),
  );
}

/** How a side was measured. */
const settingsOf = ({ settings }: ComparedSide) => JSON.stringify(settings);

/** What differs between the sides besides the measured code. */
function warning(before: ComparedSide, after: ComparedSide): string {
  const different = [
    before.platform !== after.platform && "on different platforms",
    before.kind !== after.kind && "by different commands",
    settingsOf(before) !== settingsOf(after) && "in different ways",
  ].filter(Boolean);
  return different.length ? `The sides were measured ${different.join(" and ")}: a ratio contains that, too.` : "";
}

function results(data: CompareDocument): { filters: HTMLElement; table: HTMLElement } {
  const table = new TableView<ComparedPoint>("Compared points", columns, undefined, 18),
    told = h("output", {});
  let text = "",
    wanted = "";
  const show = () => {
    const rows = data.points.filter(
      (point) =>
        (!wanted || outcome(point) === wanted) &&
        hasWords(text, [point.operator, point.problem, point.column, point.setting_text, point.schedule, outcome(point)]),
    );
    table.show(rows);
    told.textContent = `${rows.length.toLocaleString("en")} of ${count(data.points.length, "point")}`;
  };
  const outcomes = [...new Set(data.points.map(outcome))].sort();
  const filters = filterForm(
    searchField("problem, column, verdict", (words) => {
      text = words;
      show();
    }),
    choice("Verdict", [["", "all"], ...outcomes.map((value): [string, string] => [value, value])], "", (value) => {
      wanted = value;
      show();
    }),
    told,
  );
  show();
  return { filters, table: table.element };
}

export function startCompare(host: HTMLElement, data: CompareDocument): void {
  const { before, after } = data,
    names = `${shortId(before.uuid)} and ${shortId(after.uuid)}`,
    state = new FollowState(),
    news = h("p", { class: "live", hidden: true }),
    warn = warning(before, after),
    shown = results(data);
  document.title = `${names} · Lathe comparison`;
  host.replaceChildren(
    h("a", { class: "skip", href: "#compared" }, "Skip to the points"),
    pageHeader(`Experiments ${names}`, [data.live.store, count(data.points.length, "point")].join(" · ")),
    state.element,
    news,
    h(
      "div",
      { class: "bar" },
      h(
        "nav",
        { "aria-label": "Pages" },
        h("a", { href: "/" }, "All experiments"),
        h("a", { href: reportAddress([before.uuid, after.uuid]) }, "Report of both"),
        h("a", { href: `/compare?a=${encodeURIComponent(after.uuid)}&b=${encodeURIComponent(before.uuid)}` }, "The other way round"),
      ),
      shown.filters,
    ),
    h(
      "main",
      {},
      h("section", { id: "overview", "aria-label": "Overview" }, h("h2", {}, "Overview"), tiles(data)),
      titledSection(
        "compared",
        "Points",
        "Time before divided by time after, for points with equal problem, column and setting. The sides were not measured in turns: on a busy machine a ratio contains other changes.",
        warn ? h("p", { class: "note warned" }, warn) : null,
        data.too_few_starts
          ? h("p", { class: "note warned" }, `${count(data.too_few_starts, "point")} cannot be faster or slower: that verdict needs six starts of each side (lathe ops bench --starts 6).`)
          : null,
        filledBody(shown.table),
      ),
      titledSection("sides", "Experiments", "", h("div", { class: "section-body filled cards" }, card("Before", before), card("After", after))),
    ),
  );
  const changed = (change: Change) => {
    state.troubled(change.trouble);
    const other = change.experiments.filter(({ uuid }) => uuid === before.uuid || uuid === after.uuid);
    if (!other.some((entry) => entry.points !== (entry.uuid === before.uuid ? before : after).points)) return;
    news.replaceChildren("There are new points. ", h("button", { type: "button", click: () => location.reload() }, "Compare again"));
    news.hidden = false;
  };
  follow(data.live.position, changed, (is) => state.connected(is));
}
