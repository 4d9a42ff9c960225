// A plot on the page: canvas, clicks and keys that lead to the points of its marks.
import type { EChartsType } from "echarts/core";
import { echarts } from "../charts/echarts";
import type { Mark, Plot } from "../charts/plot";
import { count } from "../data/format";
import { h } from "./dom";
import type { View } from "./view";
import { inSight, later, setBusy } from "./work";

let number = 0;

export class ChartView {
  readonly element: HTMLElement;
  private readonly canvas = h("div", { class: "canvas" });
  private readonly spoken = h("p", { class: "spoken", "aria-live": "polite" });
  private chart?: EChartsType;
  private marks: Mark[] = [];
  private extent?: [number, number]; // of a plot that is moved and zoomed
  private at = -1;
  private drawnWidth = 0;
  private faded = false; // has the colours of before; drawn again when it comes near

  /** `make` returns the plot for a width, or null where there is nothing to draw. */
  constructor(
    view: View,
    private readonly title: string,
    private readonly make: (width: number) => Plot | null,
    private readonly activate: (mark: Mark) => void = (mark) => mark.point >= 0 && view.open(mark.point),
  ) {
    const hint = `chart-hint-${++number}`;
    this.element = h(
      "div",
      {
        class: "chart",
        tabindex: 0,
        role: "application",
        "aria-label": title,
        "aria-describedby": hint,
        keydown: (event: KeyboardEvent) => this.key(event),
        blur: () => this.leave(),
      },
      this.canvas,
      this.spoken,
      h("p", { id: hint, class: "for-readers" }, "Arrow keys go from mark to mark, Enter shows the point."),
    );
    new ResizeObserver(() => {
      if (Math.abs(this.element.clientWidth - this.drawnWidth) > 4) this.draw();
    }).observe(this.element);
    const near = new IntersectionObserver(([entry]) => this.faded && entry.isIntersecting && this.draw(), {
      rootMargin: "600px",
    });
    near.observe(this.element);
    view.onColours(() => {
      this.faded = true;
      if (inSight(this.element)) this.draw();
      else near.unobserve(this.element);
      near.observe(this.element); // tells again where it is
      return this.element.isConnected;
    });
  }

  /** Draws at once in sight, else in a quiet moment. */
  draw(): void {
    setBusy(this.element, true);
    if (inSight(this.element)) this.drawNow();
    else later(this.drawNow);
  }
  /** Frees what a chart keeps that is shown no more. */
  dispose(): void {
    this.chart?.dispose();
    this.chart = undefined;
    this.element.remove();
  }

  private readonly drawNow = (): void => {
    const width = this.element.clientWidth;
    setBusy(this.element, false);
    if (!width) return;
    this.faded = false;
    this.drawnWidth = width;
    const plot = this.make(width);
    this.element.classList.toggle("empty", !plot);
    this.at = -1;
    this.marks = plot?.marks ?? [];
    this.extent = plot?.extent;
    this.element.dataset.marks = String(this.marks.length);
    if (!plot) {
      this.chart?.dispose();
      this.chart = undefined;
      this.canvas.style.height = "0";
      return;
    }
    this.canvas.style.height = `${plot.height}px`;
    const drawn = this.chart;
    if (!this.chart) {
      this.chart = echarts.init(this.canvas, null, { renderer: "canvas", width, height: plot.height });
      this.chart.on("click", (event) => {
        const mark = this.marks.find((known) => known.series === event.seriesIndex && known.item === event.dataIndex);
        if (mark) this.activate(mark);
      });
    }
    // A change of the size draws as well: once is enough.
    const resized = drawn && (drawn.getWidth() !== width || drawn.getHeight() !== plot.height);
    const aria = { enabled: true, label: { description: this.description() } };
    this.chart.setOption({ ...plot.option, aria }, { notMerge: true, lazyUpdate: resized });
    if (resized) this.chart.resize({ width, height: plot.height });
  };

  /** What the plot shows, for those who hear the page: its first marks, with numbers as people read them. */
  private description(): string {
    const { title, marks } = this,
      told = marks.slice(0, 10).map((mark) => mark.label()),
      rest = marks.length - told.length;
    return `${title}, ${count(marks.length, "mark")}: ${told.join("; ")}${rest ? `; and ${rest.toLocaleString("en")} more` : ""}.`;
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!this.marks.length) return;
    const way = this.marks[this.at]?.ways?.[event.key],
      zoom = { "+": 0.7, "-": 1 / 0.7, "0": Infinity }[event.key];
    if (way !== undefined) this.go(way);
    else if (zoom && this.extent && !event.ctrlKey) this.zoom(zoom);
    else if (step) this.go(Math.max(0, Math.min(this.marks.length - 1, this.at < 0 ? 0 : this.at + step)));
    else if (event.key === "Home") this.go(0);
    else if (event.key === "End") this.go(this.marks.length - 1);
    else if (event.key === "Enter" && this.at >= 0) this.activate(this.marks[this.at]);
    else if (event.key === "Escape") this.leave();
    else return;
    event.preventDefault();
  }
  private go(to: number): void {
    this.leave();
    this.at = to;
    const mark = this.marks[to];
    this.reveal(mark);
    this.chart?.dispatchAction({ type: "highlight", seriesIndex: mark.series, dataIndex: mark.item });
    this.chart?.dispatchAction({ type: "showTip", seriesIndex: mark.series, dataIndex: mark.item });
    this.spoken.textContent = mark.label();
  }
  /** The window of an axis of a plot that is zoomed. */
  private window(axis: number): { startValue: number; endValue: number } {
    return (this.chart!.getOption().dataZoom as { startValue: number; endValue: number }[])[axis];
  }
  private setWindow(axis: number, middle: number, span: number): void {
    const most = this.extent![axis],
      size = Math.min(span, most),
      startValue = Math.max(0, Math.min(most - size, middle - size / 2));
    this.chart!.dispatchAction({ type: "dataZoom", dataZoomIndex: axis, startValue, endValue: startValue + size });
  }
  private zoom(factor: number): void {
    for (const axis of [0, 1]) {
      const { startValue, endValue } = this.window(axis);
      this.setWindow(axis, (startValue + endValue) / 2, (endValue - startValue) * factor);
    }
  }
  /** Moves a plot that is zoomed so that the mark is in sight. */
  private reveal({ place }: Mark): void {
    if (!place || !this.extent || !this.chart) return;
    for (const axis of [0, 1]) {
      const { startValue, endValue } = this.window(axis),
        span = endValue - startValue;
      if (place[axis] < startValue + span * 0.1 || place[axis] > endValue - span * 0.1)
        this.setWindow(axis, place[axis], span);
    }
  }
  private leave(): void {
    if (this.at < 0) return;
    const mark = this.marks[this.at];
    this.chart?.dispatchAction({ type: "downplay", seriesIndex: mark.series, dataIndex: mark.item });
    this.chart?.dispatchAction({ type: "hideTip" });
    this.spoken.textContent = "";
    this.at = -1;
  }
}
