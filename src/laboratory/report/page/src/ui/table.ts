// A table that only has elements for the rows in sight. Headers sort, keys move, Enter opens a row.
import { orderOf, TextRanks } from "../data/order";
import { h } from "./dom";

export interface TableColumn<Row> {
  name: string;
  width: string; // of CSS grid: "6rem", "minmax(12rem, 1fr)"
  text(row: Row): string;
  /** What is sorted by; without it the text. NaN and "" come last in both directions. */
  value?(row: Row): number | string;
  full?(row: Row): string; // what a shortened text stands for
  numeric?: boolean;
  unit?: string; // of the numbers, which the header has; those who hear the page hear it with every number
  badge?(row: Row): string; // class of a small coloured word
  link?(row: Row): string; // address of a page about the row
}

/** A column of numbers, which are sorted by size; a number that is not known is "". `unit`: that of TableColumn. */
export const numberColumn = <Row>(
  name: string,
  width: string,
  value: (row: Row) => number,
  shown: (value: number, row: Row) => string,
  unit?: string,
): TableColumn<Row> => ({
  ...{ name, width, numeric: true, unit, value },
  text: (row) => (Number.isFinite(value(row)) ? shown(value(row), row) : ""),
});

/** Rows that the reader picks, with a box or the space bar. */
export interface Picks<Row> {
  has(row: Row): boolean;
  toggle(row: Row): void;
}

/** The width, but at least that of the header. */
function widthOf({ width, name }: { width: string; name: string }): string {
  return width.startsWith("minmax") ? width : `max(${width}, calc(${(name.length * 1.05).toFixed(1)}ch + 1.3rem))`;
}
const leastOf = (column: { width: string; name: string }): string =>
  /^minmax\(([\d.]+rem)/.exec(column.width)?.[1] ?? widthOf(column);

const rowHeight = 34;
let tables = 0;
/** How the reader sorted tables, by their labels: a page that is updated keeps it. */
const sortings = new Map<string, { name: string; down: boolean }>();

export class TableView<Row> {
  readonly element: HTMLElement;
  private readonly head: HTMLElement;
  private readonly scroller: HTMLElement;
  private readonly body: HTMLElement;
  private readonly id = `table-${++tables}`;
  private readonly ranks = new Map<TableColumn<Row>, TextRanks>();
  private shown: TableColumn<Row>[] = []; // that have a value in some row
  private rows: Row[] = [];
  private checked = 0; // rows among which columns with values were looked for
  private order: Uint32Array = new Uint32Array(0);
  private sortBy?: TableColumn<Row>;
  private down = false;
  private focused = 0;

  constructor(
    private readonly label: string,
    private readonly columns: TableColumn<Row>[],
    private readonly open?: (row: Row) => void,
    private readonly tall = 14,
    private readonly picks?: Picks<Row>,
  ) {
    const sorting = sortings.get(label);
    this.sortBy = columns.find((column) => column.name === sorting?.name);
    this.down = !!this.sortBy && !!sorting?.down;
    this.head = h("div", { class: "row head", role: "row", "aria-rowindex": 1 });
    this.body = h("div", { class: "body", role: "rowgroup" });
    this.scroller = h(
      "div",
      {
        class: "scroller",
        tabindex: 0,
        role: "grid",
        "aria-label": label,
        keydown: (event: KeyboardEvent) => this.key(event),
      },
      this.head,
      this.body,
    );
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element = h("div", { class: "table" }, this.scroller);
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  /** `keep`: the rows are those of before, brought up to date. */
  show(rows: Row[], keep = false): void {
    this.rows = rows;
    this.focused = keep ? Math.max(0, Math.min(this.focused, rows.length - 1)) : 0;
    this.chooseColumns();
    this.sort();
    this.scroller.setAttribute("aria-rowcount", String(rows.length + 1));
    const lines = Math.max(1, rows.length); // "nothing to show" is one
    this.scroller.style.height = `${rowHeight * (Math.min(lines, this.tall) + 1) + 18}px`;
    this.body.style.height = `${rowHeight * lines}px`;
    this.draw();
  }
  /** Row indices as sorted, for tests. */
  sorted(): Row[] {
    return Array.from(this.order, (index) => this.rows[index]);
  }

  /** Columns without any value are left out. A filter takes no column away. */
  private chooseColumns(): void {
    if (this.shown.length && this.rows.length <= this.checked) return;
    const kept = this.checked ? this.shown : [];
    this.checked = this.rows.length;
    this.shown = this.columns.filter(
      (column) => kept.includes(column) || !this.rows.length || this.rows.some((row) => column.text(row) !== ""),
    );
    if (this.shown.length === kept.length) return;
    const picks = this.picks ? ["2.4rem"] : [];
    this.scroller.style.setProperty("--columns", [...picks, ...this.shown.map(widthOf)].join(" "));
    this.scroller.style.setProperty("--least", `calc(${[...picks, ...this.shown.map(leastOf)].join(" + ")})`);
    this.scroller.setAttribute("aria-colcount", String(this.shown.length));
    this.drawHead();
  }
  private drawHead(): void {
    this.head.replaceChildren(
      ...(this.picks ? [h("div", { role: "columnheader", "aria-label": "picked" })] : []),
      ...this.shown.map((column) => {
        const sorted = column === this.sortBy,
          arrow = sorted && h("span", { class: "arrow", "aria-hidden": "true" }, this.down ? "↓" : "↑");
        return h(
          "div",
          {
            role: "columnheader",
            class: column.numeric ? "numeric" : "",
            "aria-sort": !sorted ? "none" : this.down ? "descending" : "ascending",
          },
          h(
            "button",
            { type: "button", title: `Sort by ${column.name}`, click: () => this.toggle(column) },
            column.name,
          ),
          arrow,
        );
      }),
    );
  }
  private toggle(column: TableColumn<Row>): void {
    if (this.sortBy === column) this.down = !this.down;
    else [this.sortBy, this.down] = [column, false];
    sortings.set(this.label, { name: column.name, down: this.down });
    const last = document.activeElement?.parentElement?.parentElement === this.head;
    this.drawHead();
    if (last) (this.head.children[this.shown.indexOf(column) + (this.picks ? 1 : 0)].firstElementChild as HTMLElement).focus();
    this.sort();
    this.draw();
  }
  private sort(): void {
    const { rows, sortBy: column } = this;
    if (!column) {
      this.order = Uint32Array.from(rows.keys());
      return;
    }
    const value = column.value ?? column.text,
      values = rows.map((row) => value.call(column, row));
    let numbers: Float64Array;
    if (values.every((entry) => typeof entry === "number")) numbers = Float64Array.from(values as number[]);
    else {
      const ranks = this.ranks.get(column) ?? new TextRanks();
      this.ranks.set(column, ranks);
      numbers = ranks.of(values.map(String));
    }
    this.order = orderOf(numbers, this.down);
  }

  private draw(): void {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / rowHeight) - 4);
    const last = Math.min(this.rows.length, first + Math.ceil((this.scroller.clientHeight || 600) / rowHeight) + 8);
    const lines: HTMLElement[] = [];
    for (let place = first; place < last; ++place) {
      const row = this.rows[this.order[place]];
      const cells = this.shown.map((column) => {
        const text = column.text(row),
          badge = column.badge?.(row),
          full = column.full?.(row) ?? text,
          link = column.link?.(row);
        return h(
          "div",
          {
            role: "gridcell",
            class: column.numeric ? "numeric" : "",
            title: full,
            "aria-label": !!column.unit && text !== "" && `${text} ${column.unit}`,
          },
          badge
            ? h("span", { class: `badge ${badge}` }, text)
            : link
              ? h("a", { href: link, tabindex: -1, click: (event: Event) => event.stopPropagation() }, text)
              : text,
        );
      });
      if (this.picks) cells.unshift(this.box(place, row));
      const line = h(
        "div",
        {
          class: `row${place === this.focused ? " focused" : ""}${this.open ? " opens" : ""}`,
          role: "row",
          id: `${this.id}-${place}`,
          "aria-rowindex": place + 2,
          ...(this.picks ? { "aria-selected": String(this.picks.has(row)) } : {}),
          click: () => this.activate(place),
        },
        ...cells,
      );
      line.style.top = `${place * rowHeight}px`;
      lines.push(line);
    }
    if (!this.rows.length) lines.push(h("div", { class: "nothing" }, "Nothing to show."));
    this.body.replaceChildren(...lines);
    if (this.rows.length) this.scroller.setAttribute("aria-activedescendant", `${this.id}-${this.focused}`);
  }
  private box(place: number, row: Row): HTMLDivElement {
    const box = h("input", { type: "checkbox", tabindex: -1, "aria-label": "pick", checked: this.picks!.has(row) });
    return h(
      "div",
      {
        role: "gridcell",
        class: "pick",
        click: (event: Event) => {
          event.stopPropagation(); // the row is not opened
          this.pick(place);
        },
      },
      box,
    );
  }
  private pick(place: number): void {
    this.focused = place;
    this.picks?.toggle(this.rows[this.order[place]]);
    this.draw();
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
    else if (event.key === " " && this.picks && last >= 0) {
      event.preventDefault(); // else the table scrolls
      return this.pick(this.focused);
    } else if (event.key === "Enter" && last >= 0) {
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
