// The dialog about one point: what it is, its times with their spread, its raw samples and its repro line.
import { samples } from "../charts/samples";
import type { Dataset } from "../data/dataset";
import { count, date, digits, milliseconds, percent, time } from "../data/format";
import { figuresText } from "../data/networks";
import { ChartView } from "./chart";
import { commandLine, facts, h } from "./dom";
import type { View } from "./view";

const known = (value: number, text: (value: number) => string): string => (Number.isFinite(value) ? text(value) : "");

function timing(data: Dataset, point: number): [string, string][] {
  const of = (name: Parameters<Dataset["number"]>[1]) => data.number(point, name),
    speed = data.gflops(point);
  return [
    ["median", time(of("median"))],
    [`median, ${data.spreadName(point)}`, known(of("low"), (low) => `${time(low)} to ${time(of("high"))}`)],
    ["quartiles", known(of("p25"), (low) => `${time(low)} to ${time(of("p75"))}`)],
    ["least", time(of("min"))],
    ["speed", speed > 0 ? `${digits(speed)} GFLOPS, ${digits(data.gigabytesPerSecond(point))} GB/s` : ""],
    [
      "share of the roofline",
      known(of("roofline_share"), (share) => `${percent(share)}, bound by ${data.text(point, "bound")}`),
    ],
    ["processor time", time(of("cpu_seconds"))],
    ["busy processors", known(of("processors"), (value) => digits(value, 3))],
    ["frequency", known(of("gigahertz"), (value) => `${digits(value, 3)} GHz`)],
    ["cycles, instructions", known(of("cycles"), (value) => `${digits(value)}, ${digits(of("instructions"))}`)],
    ["last-level misses", known(of("cache_misses"), (value) => digits(value))],
    ["a call of the provider", time(of("call_seconds"))],
    ["preparation", time(of("prepare_seconds"))],
    ["other programs", known(of("other_processors"), (value) => `${digits(value, 3)} processors busy`)],
  ];
}

function description(data: Dataset, point: number): HTMLElement {
  const setting = data.setting(point),
    experiment = data.experiment(point),
    figures = figuresText(data.figures(point));
  const nodes = data.problem(point).detail?.nodes;
  return facts([
    ["operator", data.problem(point).operator],
    ["status", data.statusText(point)],
    ["reason", data.text(point, "reason")],
    ["setting", setting.text],
    ["schedule", setting.schedule],
    ["implementation", data.text(point, "implementation")],
    ["version", data.text(point, "provider_version")],
    ...timing(data, point),
    ["relative L2 from the reference", known(data.number(point, "relative_l2"), (value) => value.toExponential(2))],
    ["largest difference", known(data.number(point, "max_difference"), (value) => value.toExponential(2))],
    ["figures", figures],
    ["nodes", Array.isArray(nodes) ? nodes.join(", ") : ""],
    ["measured", date(data.text(point, "measured"))],
    ["experiment", `${experiment.uuid} (${experiment.kind})`],
    ["platform", data.platform(point).name],
  ]);
}

/** All samples as text, a line for each round. */
function rawSamples(data: Dataset, point: number): HTMLElement {
  const rounds = data.rounds(point),
    total = data.nanoseconds(point).length;
  const list = h("pre", { class: "raw", tabindex: 0 });
  const block = h(
    "details",
    {
      toggle: () => {
        if (!list.textContent)
          list.textContent = rounds.map((round, i) => `round ${i + 1}: ${Array.from(round).join(" ")}`).join("\n");
      },
    },
    h("summary", {}, `${count(total, "raw sample")} in ${count(rounds.length, "round")}, in ns`),
    list,
  );
  return block;
}

export class Details {
  private readonly dialog = h("dialog", { class: "details", "aria-label": "Point" });
  view?: View;
  private chart?: ChartView;

  constructor(private readonly data: Dataset) {
    document.body.append(this.dialog);
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
  }

  remove(): void {
    this.chart?.dispose();
    this.dialog.remove();
  }

  open(point: number): void {
    const { data } = this,
      close = h(
        "button",
        { type: "button", class: "close", "aria-label": "Close", click: () => this.dialog.close() },
        "×",
      );
    const parts: (Node | false)[] = [
      h(
        "header",
        {},
        h("div", {}, h("h2", {}, data.placedText(point)), h("p", { class: "problem" }, data.problem(point).text)),
        close,
      ),
      description(data, point),
    ];
    this.chart?.dispose();
    this.chart = undefined;
    if (data.timed(point) && this.view) {
      this.chart = new ChartView(
        this.view,
        "Samples in the order of measuring",
        (width) => samples(data, point, this.view!.look(width)),
        () => {},
      );
      parts.push(
        h("h3", {}, `Samples, median ${milliseconds(data.number(point, "median"))}`),
        this.chart.element,
        rawSamples(data, point),
      );
    }
    const repro = data.repro(point);
    if (repro) parts.push(h("h3", {}, "Measure it again"), commandLine(repro));
    this.dialog.replaceChildren(...parts.filter((part): part is Node => !!part));
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.scrollTop = 0;
    this.chart?.draw();
  }
}
