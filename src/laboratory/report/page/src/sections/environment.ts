// Machines, versions and commands: what the numbers belong to.
import notices from "virtual:notices";
import { bytes, count, date, digits } from "../data/format";
import type { Experiment, Platform } from "../data/schema";
import { settingFacts } from "../data/settings";
import { commandLine, facts, h } from "../ui/dom";
import type { Section, View } from "../ui/view";

/** Files of other programs do not say what they ran on: their platforms have no system. */
function machineText(platform: Platform): string {
  if (platform.virtualized) return `virtual (${platform.hypervisor || "unknown hypervisor"})`;
  return platform.kernel ? "physical" : "";
}

/** The clock of one busy core, as the last experiment on the platform has recorded it. */
function latestClock(experiments: Experiment[], platform: number): string {
  const known = experiments
    .filter((experiment) => experiment.platform === platform && Number(experiment.detail?.clock_ghz) > 0)
    .sort((a, b) => (a.started < b.started ? 1 : -1));
  return known.length ? `${digits(Number(known[0].detail!.clock_ghz), 3)} GHz, ${date(known[0].started)}` : "";
}

function platformCard(platform: Platform, clock: string): HTMLElement {
  const libraries = Object.entries(platform.libraries)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
  return h(
    "article",
    { class: "card" },
    h("h3", {}, platform.name),
    facts([
      ["tags", (platform.tags ?? []).join(", ")],
      ["note", platform.note ?? ""],
      [
        "processor",
        [
          platform.cpu,
          platform.architecture,
          platform.cores ? count(platform.cores, "core") : "",
          platform.hardware_threads ? count(platform.hardware_threads, "hardware thread") : "",
        ]
          .filter(Boolean)
          .join(", "),
      ],
      ["machine", machineText(platform)],
      [
        "caches",
        platform.caches
          .map(
            (cache) =>
              `${cache.name} ${bytes(cache.bytes)}${cache.shared_by_threads > 1 ? ` for ${cache.shared_by_threads} threads` : ""}`,
          )
          .join(", "),
      ],
      ["memory", platform.memory_bytes ? bytes(platform.memory_bytes) : ""],
      ["clock of a busy core", clock],
      ["governor", platform.governor],
      ["boost", platform.boost],
      ["system", platform.kernel],
      ["compiler", platform.compiler],
      ["libraries", libraries],
      ["features", platform.features.join(" ")],
      ["ceilings", platform.ceilings ? `measured ${date(platform.ceilings.measured)}` : ""],
    ]),
  );
}

function experimentCard(view: View, index: number, points: number): HTMLElement {
  const experiment = view.data.document.experiments[index];
  return h(
    "article",
    { class: "card" },
    h("h3", {}, experiment.name ?? `${experiment.kind} ${experiment.uuid.slice(0, 8)}`),
    facts([
      ["experiment", experiment.name ? `${experiment.kind} ${experiment.uuid.slice(0, 8)}` : ""],
      ["tags", (experiment.tags ?? []).join(", ")],
      ["note", experiment.note ?? ""],
      ["points", points ? points.toLocaleString("en") : ""],
      ["started", date(experiment.started)],
      ["finished", experiment.finished ? date(experiment.finished) : "not finished"],
      ["lathe", experiment.version + (experiment.build ? ` (${experiment.build})` : "")],
      [
        "other programs",
        experiment.other_processors !== undefined && experiment.other_processors !== null
          ? `${digits(experiment.other_processors, 3)} processors busy`
          : "",
      ],
      ...settingFacts(experiment.settings),
    ]),
    commandLine(experiment.command),
  );
}

const shownFirst = 12;

export const environment: Section = {
  id: "environment",
  title: "Environment",
  note: "Machines, versions and commands of the experiments, and of this report.",
  applies: () => true,
  mount(host, view) {
    const { document } = view.data,
      counts = new Map<number, number>(),
      column = view.data.column("experiment");
    for (let i = 0; i < view.data.count; ++i) counts.set(column[i], (counts.get(column[i]) ?? 0) + 1);
    const cards = h("div", { class: "cards" }),
      all = document.experiments.map((_experiment, index) => index);
    const show = (list: number[]) =>
      cards.append(...list.map((index) => experimentCard(view, index, counts.get(index) ?? 0)));
    show(all.slice(0, shownFirst));
    const more = h(
      "button",
      {
        type: "button",
        class: "more",
        click: () => {
          show(all.slice(shownFirst));
          more.remove();
        },
      },
      `Show ${all.length - shownFirst} more experiments`,
    );
    host.append(
      h("div", { class: "cards" }, ...document.platforms.map((platform, index) => platformCard(platform, latestClock(document.experiments, index)))),
      cards,
      ...(all.length > shownFirst ? [more] : []),
      h(
        "article",
        { class: "card" },
        h("h3", {}, "This report"),
        facts([
          ["written", date(document.created)],
          ["lathe", document.lathe.version + (document.lathe.build ? ` (${document.lathe.build})` : "")],
        ]),
        commandLine(document.command),
      ),
      h(
        "details",
        { class: "notices" },
        h("summary", {}, "Third-party notices"),
        h("pre", { class: "raw", tabindex: 0 }, notices),
      ),
    );
    return () => {};
  },
};
