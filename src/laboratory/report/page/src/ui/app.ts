// The frame of the page: title, theme, filters, navigation, and sections that are filled when they come into sight.
import { statistics, type Dataset, type Statistic } from "../data/dataset";
import { count, date, statusText } from "../data/format";
import { sections } from "../sections/all";
import { Details } from "./details";
import { choice, h, titledSection } from "./dom";
import { filterForm, searchField } from "./search";
import { pageHeader } from "./theme";
import { everything, View, type Filter, type Section } from "./view";
import { inSight, later, setBusy } from "./work";

/** What an update of the page keeps. */
export interface Kept {
  filter?: Filter;
  heights?: Map<string, number>; // of the sections, until they are filled again
  above?: HTMLElement; // stands above the header
}
export interface App {
  /** Ends the page, so that it can be started with other data. */
  stop(): Kept;
}

function header(view: View, signal: AbortSignal): HTMLElement {
  const { document: data } = view.data;
  const platforms = data.platforms.length === 1 ? data.platforms[0].cpu : count(data.platforms.length, "platform");
  const about = [
    platforms,
    count(view.data.count, "point"),
    count(data.experiments.length, "experiment"),
    date(data.created),
    `Lathe ${data.lathe.version}`,
  ];
  return pageHeader(data.title || "Measurements", about.join(" · "), () => view.coloursChanged(), signal);
}

/** One choice for each property that has several values. */
function filters(view: View, signal: AbortSignal): HTMLElement {
  const { data } = view,
    { document: all } = data;
  const bar = filterForm();
  const controls: HTMLSelectElement[] = [];
  const values = (list: Iterable<string>) =>
    [...new Set(list)].filter(Boolean).sort(new Intl.Collator("en", { numeric: true }).compare);
  const texts = (name: "provider" | "status") =>
    values(Array.from(new Set(data.column(name)), (index) => all.texts[index]));
  const add = (label: string, name: keyof Filter, list: string[]) => {
    if (list.length < 2) return;
    const element = choice(
      label,
      [["", "all"], ...list.map((value): [string, string] => [value, statusText(value)])],
      list.includes(view.filter[name] as string) ? (view.filter[name] as string) : "",
      (value) => view.setFilter({ [name]: value }),
    );
    controls.push(element.querySelector("select")!);
    bar.append(element);
  };
  const search = searchField("problem, column, schedule", (text) => view.setFilter({ text }), signal);
  search.value = view.filter.text;
  bar.append(search);
  add("Kind", "kind", values(all.experiments.map((experiment) => experiment.kind)));
  add("Operator", "operator", values(all.problems.map((problem) => problem.operator)));
  add("Provider", "provider", texts("provider"));
  add("Threads", "threads", values(all.settings.map((setting) => String(setting.threads))));
  add("Status", "status", texts("status"));
  if (data.document.points.count) {
    const element = choice(
      "Time",
      statistics.map((name): [string, string] => [name, name]),
      view.filter.statistic,
      (value) => view.setFilter({ statistic: value as Statistic }),
    );
    controls.push(element.querySelector("select")!);
    bar.append(element);
  }
  const old = h("input", {
    type: "checkbox",
    checked: view.filter.superseded,
    change: () => view.setFilter({ superseded: old.checked }),
  });
  if (data.column("current").some((value) => value === 0))
    bar.append(h("label", { class: "choice check" }, old, h("span", {}, "also points measured again later")));
  const state = h("output", {});
  const reset = h(
    "button",
    {
      type: "button",
      class: "reset",
      click: () => {
        search.value = "";
        old.checked = false;
        for (const control of controls) control.selectedIndex = 0;
        view.setFilter({ ...everything });
      },
    },
    "Show all",
  );
  bar.append(reset, state);
  const nothing = h("p", { class: "unmatched", role: "status" });
  bar.append(nothing);
  const tell = () => {
    nothing.textContent = data.count && !view.points.length ? "No point matches these filters." : "";
    state.textContent = `${view.points.length.toLocaleString("en")} of ${count(data.count, "point")}`;
    reset.hidden = JSON.stringify(view.filter) === JSON.stringify(everything);
  };
  view.onChange(tell);
  tell();
  return bar;
}

/**
 * A section, filled when it is nearly in sight, and brought up to date only while it is: at once if it is in sight,
 * else in a quiet moment.
 */
function place(section: Section, view: View, height?: number): HTMLElement {
  const body = h("div", { class: "section-body" });
  if (height) body.style.minHeight = `${height}px`; // the page keeps its place while it fills again
  const element = titledSection(section.id, section.title, section.note, body);
  let update: (() => void) | undefined,
    near = false,
    stale = true;
  const refresh = () => {
    if (!near || !stale) return;
    stale = false;
    setBusy(body, false);
    update ??= section.mount(body, view);
    update();
    body.classList.add("filled");
    body.style.minHeight = "";
  };
  new IntersectionObserver(
    (entries) => {
      near = entries[entries.length - 1].isIntersecting;
      refresh();
    },
    { rootMargin: "300px" },
  ).observe(element);
  view.onChange(() => {
    stale = true;
    setBusy(body, true);
    if (near && !inSight(element)) later(refresh);
    else refresh();
  });
  return element;
}

function navigation(shown: Section[], signal: AbortSignal): HTMLElement {
  const links = new Map(shown.map((section) => [section.id, h("a", { href: `#${section.id}` }, section.title)]));
  let reached = "",
    marked = "";
  const mark = () => {
    const id = scrollY < 8 ? shown[0].id : reached;
    if (id === marked) return;
    links.get(marked)?.removeAttribute("aria-current");
    links.get(id)?.setAttribute("aria-current", "true");
    marked = id;
  };
  addEventListener("scroll", mark, { passive: true, signal });
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) reached = entry.target.id;
      mark();
    },
    { rootMargin: "-30% 0px -60% 0px" },
  );
  setTimeout(() => {
    for (const { id } of shown) {
      const element = document.getElementById(id);
      if (element && !signal.aborted) observer.observe(element);
    }
  });
  return h("nav", { "aria-label": "Sections" }, ...links.values());
}

export function startApp(host: HTMLElement, data: Dataset, kept: Kept = {}): App {
  const ending = new AbortController(),
    { signal } = ending;
  const details = new Details(data),
    view = new View(data, (point) => details.open(point));
  details.view = view;
  if (kept.filter) view.setFilter(kept.filter);
  const shown = sections.filter((section) => section.applies(view));
  document.title = `${data.document.title || "Measurements"} · Lathe report`;
  host.replaceChildren(
    h("a", { class: "skip", href: "#overview" }, "Skip to the measurements"),
    ...(kept.above ? [kept.above] : []),
    header(view, signal),
    h("div", { class: "bar" }, navigation(shown, signal), filters(view, signal)),
    h("main", {}, ...shown.map((section) => place(section, view, kept.heights?.get(section.id)))),
  );
  return {
    stop() {
      ending.abort();
      details.remove();
      const bodies = host.querySelectorAll<HTMLElement>("main > section > .section-body");
      const heights = new Map(Array.from(bodies, (body) => [body.parentElement!.id, body.offsetHeight]));
      return { filter: view.filter, heights };
    },
  };
}
