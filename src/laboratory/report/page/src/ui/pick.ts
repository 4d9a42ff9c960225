// A choice among things of which one is shown at a time. It is hidden where there is nothing to choose.
import { choice, h } from "./dom";

export class Pick<T> {
  readonly element = h("div", { class: "controls" });
  private items: T[] = [];
  private chosen = 0;

  constructor(
    private readonly label: string,
    private readonly name: (item: T) => string,
    private readonly changed: () => void,
  ) {}

  get current(): T | undefined {
    return this.items[Math.min(this.chosen, this.items.length - 1)];
  }
  /** Offers other items, and shows the one in the same place. */
  show(items: T[]): void {
    this.items = items;
    this.element.replaceChildren(
      choice(
        this.label,
        items.map((item, index): [string, string] => [String(index), this.name(item)]),
        String(Math.min(this.chosen, Math.max(0, items.length - 1))),
        (value) => {
          this.chosen = Number(value);
          this.changed();
        },
      ),
    );
    this.element.hidden = items.length < 2;
    this.changed();
  }
}
