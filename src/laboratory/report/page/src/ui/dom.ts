// Elements. Text only ever becomes text: nothing of the data is read as markup.
import { visible } from "../data/visible";

export type Child = Node | string | null | undefined | false;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number | boolean | ((event: never) => void)> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  element.append(
    ...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** A text of the page in which `commands` stand between backticks. */
const withCode = (text: string): Child[] =>
  text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));

/** A part of the page below its title. */
export const titledSection = (id: string, title: string, note: string, ...body: Child[]): HTMLElement =>
  h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title),
    note ? h("p", { class: "note" }, ...withCode(note)) : null,
    ...body,
  );
/** The body of a section that is filled at once. */
export const filledBody = (...children: Node[]): HTMLElement => h("div", { class: "section-body filled" }, ...children);

/** A labelled choice. `options`: value and text. */
export function choice(
  label: string,
  options: [string, string][],
  value: string,
  change: (value: string) => void,
): HTMLLabelElement {
  const select = h(
    "select",
    { change: () => change(select.value) },
    ...options.map(([key, text]) => h("option", { value: key }, text)),
  );
  select.value = value;
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

/** A number with its label, and what is behind it. */
export const tile = (value: string, label: string, more = ""): HTMLElement =>
  h("div", { class: "tile" }, h("b", {}, value), h("span", {}, label), more ? h("small", {}, more) : null);

/** A definition list of what is known: empty values are left out. */
export function facts(rows: [string, string | Node | null | undefined][]): HTMLElement {
  return h(
    "dl",
    { class: "facts" },
    ...rows.filter(([, value]) => value).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value!)]),
  );
}

/** A command with a button that copies it. */
export function commandLine(text: string): HTMLElement {
  const button = h(
    "button",
    {
      type: "button",
      class: "copy",
      click: () => {
        void navigator.clipboard?.writeText(text);
        button.textContent = "Copied";
        setTimeout(() => (button.textContent = "Copy"), 1500);
      },
    },
    "Copy",
  );
  return h("div", { class: "command" }, h("code", {}, visible(text)), button);
}

/** "‹ 1–12 of 80 ›" */
export class Pager {
  readonly element = h("div", { class: "pager" });
  page = 0;
  constructor(
    private readonly perPage: number,
    private readonly noun: string,
    private readonly changed: () => void,
  ) {}
  /** The part of `items` that the page shows. */
  slice<T>(items: T[]): T[] {
    const pages = Math.max(1, Math.ceil(items.length / this.perPage));
    this.page = Math.min(this.page, pages - 1);
    const first = this.page * this.perPage,
      shown = items.slice(first, first + this.perPage);
    const go = (step: number) => () => {
      this.page += step;
      this.changed();
      (
        this.element.querySelector(step < 0 ? "button:first-child" : "button:last-child") as HTMLElement | null
      )?.focus();
    };
    const button = (text: string, label: string, step: number, off: boolean) =>
      h("button", { type: "button", "aria-label": label, click: go(step), disabled: off }, text);
    this.element.replaceChildren(
      button("‹", `previous ${this.noun}s`, -1, this.page === 0),
      h(
        "span",
        {},
        items.length
          ? `${this.noun}s ${first + 1} to ${first + shown.length} of ${items.length.toLocaleString("en")}`
          : `no ${this.noun}s`,
      ),
      button("›", `next ${this.noun}s`, 1, this.page === pages - 1),
    );
    this.element.hidden = pages === 1;
    return shown;
  }
}
