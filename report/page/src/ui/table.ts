// A table that only has elements for the rows in sight. Headers sort, keys move, Enter opens a row.
import { h } from "./dom";

export interface TableColumn<Row> {
  name: string;
  width: string; // of CSS grid: "6rem", "minmax(12rem, 1fr)"
  text(row: Row): string;
  /** What is sorted by; without it the text. NaN and "" come last in both directions. */
  value?(row: Row): number | string;
  full?(row: Row): string; // what a shortened text stands for
  numeric?: boolean;
  badge?(row: Row): string; // class of a small coloured word
}

const rowHeight = 34;
let tables = 0;

export class TableView<Row> {
  readonly element: HTMLElement;
  private readonly head: HTMLElement;
  private readonly scroller: HTMLElement;
  private readonly body: HTMLElement;
  private readonly id = `table-${++tables}`;
  private rows: Row[] = [];
  private order: Uint32Array = new Uint32Array(0);
  private sortBy = -1;
  private down = false;
  private focused = 0;

  constructor(
    label: string,
    private readonly columns: TableColumn<Row>[],
    private readonly open?: (row: Row) => void,
    private readonly tall = 14,
  ) {
    const template = columns.map((column) => column.width).join(" ");
    this.head = h("div", { class: "row head", role: "row", "aria-rowindex": 1 });
    this.body = h("div", { class: "body", role: "rowgroup" });
    this.scroller = h(
      "div",
      {
        class: "scroller",
        tabindex: 0,
        role: "grid",
        "aria-label": label,
        "aria-colcount": columns.length,
        keydown: (event: KeyboardEvent) => this.key(event),
      },
      this.head,
      this.body,
    );
    this.scroller.style.setProperty("--columns", template);
    const least = columns.reduce((sum, column) => sum + Number(/[\d.]+(?=rem)/.exec(column.width)?.[0] ?? 8), 0);
    this.scroller.style.setProperty("--least", `${least}rem`);
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element = h("div", { class: "table" }, this.scroller);
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.drawHead();
  }

  show(rows: Row[]): void {
    this.rows = rows;
    this.focused = 0;
    this.sort();
    this.scroller.setAttribute("aria-rowcount", String(rows.length + 1));
    this.scroller.style.height = `${rowHeight * (Math.min(rows.length, this.tall) + 1) + 18}px`;
    this.body.style.height = `${rowHeight * rows.length}px`;
    this.draw();
  }
  /** Row indices as sorted, for tests. */
  sorted(): Row[] {
    return Array.from(this.order, (index) => this.rows[index]);
  }

  private drawHead(): void {
    this.head.replaceChildren(
      ...this.columns.map((column, index) => {
        const sorted = index === this.sortBy,
          arrow = sorted ? (this.down ? " ↓" : " ↑") : "";
        return h(
          "div",
          {
            role: "columnheader",
            class: column.numeric ? "numeric" : "",
            "aria-sort": !sorted ? "none" : this.down ? "descending" : "ascending",
          },
          h(
            "button",
            { type: "button", title: `Sort by ${column.name}`, click: () => this.toggle(index) },
            column.name + arrow,
          ),
        );
      }),
    );
  }
  private toggle(index: number): void {
    if (this.sortBy === index) this.down = !this.down;
    else [this.sortBy, this.down] = [index, false];
    const last = document.activeElement?.parentElement?.parentElement === this.head;
    this.drawHead();
    if (last) (this.head.children[index].firstElementChild as HTMLElement).focus();
    this.sort();
    this.draw();
  }
  private sort(): void {
    const { rows } = this,
      column = this.columns[this.sortBy],
      order = Uint32Array.from(rows, (_row, index) => index);
    this.order = order;
    if (!column) return;
    const sign = this.down ? -1 : 1,
      value = column.value ?? column.text;
    const values = rows.map((row) => value.call(column, row));
    if (values.every((entry) => typeof entry === "number")) {
      const numbers = Float64Array.from(values as number[]);
      order.sort((a, b) => {
        const x = numbers[a],
          y = numbers[b];
        if (x !== x || y !== y) return (x !== x ? 1 : 0) - (y !== y ? 1 : 0) || a - b;
        return sign * (x - y) || a - b;
      });
      return;
    }
    // Equal texts are compared once; numbers inside of texts by their size.
    const padded = (text: string) => text.toLowerCase().replace(/\d+/g, (number) => number.padStart(12, "0"));
    const keyed = [...new Set(values.map(String))].map((text): [string, string] => [padded(text), text]);
    const texts = keyed.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)).map(([, text]) => text);
    const ranks = new Map(texts.map((text, index) => [text, index]));
    const rank = Float64Array.from(values, (entry) => (entry === "" ? NaN : ranks.get(String(entry))!));
    order.sort((a, b) => {
      const x = rank[a],
        y = rank[b];
      if (x !== x || y !== y) return (x !== x ? 1 : 0) - (y !== y ? 1 : 0) || a - b;
      return sign * (x - y) || a - b;
    });
  }

  private draw(): void {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / rowHeight) - 4);
    const last = Math.min(this.rows.length, first + Math.ceil((this.scroller.clientHeight || 600) / rowHeight) + 8);
    const lines: HTMLElement[] = [];
    for (let place = first; place < last; ++place) {
      const row = this.rows[this.order[place]];
      const cells = this.columns.map((column) => {
        const text = column.text(row),
          badge = column.badge?.(row),
          full = column.full?.(row) ?? text;
        return h(
          "div",
          { role: "gridcell", class: column.numeric ? "numeric" : "", title: full },
          badge ? h("span", { class: `badge ${badge}` }, text) : text,
        );
      });
      const line = h(
        "div",
        {
          class: `row${place === this.focused ? " focused" : ""}${this.open ? " opens" : ""}`,
          role: "row",
          id: `${this.id}-${place}`,
          "aria-rowindex": place + 2,
          click: () => this.activate(place),
        },
        ...cells,
      );
      line.style.top = `${place * rowHeight}px`;
      lines.push(line);
    }
    this.body.replaceChildren(...lines);
    if (this.rows.length) this.scroller.setAttribute("aria-activedescendant", `${this.id}-${this.focused}`);
  }
  private activate(place: number): void {
    this.focused = place;
    this.draw();
    this.open?.(this.rows[this.order[place]]);
  }
  private key(event: KeyboardEvent): void {
    if (event.target !== this.scroller) return;
    const last = this.rows.length - 1,
      step = { ArrowDown: 1, ArrowUp: -1, PageDown: this.tall, PageUp: -this.tall }[event.key];
    if (step) this.focused += step;
    else if (event.key === "Home") this.focused = 0;
    else if (event.key === "End") this.focused = last;
    else if (event.key === "Enter" && last >= 0) {
      event.preventDefault(); // else the key also presses the button that the dialog puts the focus on
      return this.activate(this.focused);
    } else return;
    event.preventDefault();
    this.focused = Math.max(0, Math.min(last, this.focused));
    const top = this.focused * rowHeight,
      seen = this.scroller.clientHeight - 2 * rowHeight;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top > this.scroller.scrollTop + seen) this.scroller.scrollTop = top - seen;
    this.draw();
  }
}
