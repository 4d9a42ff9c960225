// The field that filters by words; the key / leads to it.
import { h } from "./dom";

export function searchField(placeholder: string, changed: (text: string) => void, signal?: AbortSignal): HTMLInputElement {
  let waiting = 0;
  const field = h("input", {
    type: "search",
    placeholder: `Filter: ${placeholder} …  ( / )`,
    "aria-label": "Filter by words",
    input: () => {
      clearTimeout(waiting);
      waiting = window.setTimeout(() => changed(field.value), 50);
    },
  });
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test((event.target as HTMLElement).tagName)) return;
      event.preventDefault();
      field.focus();
    },
    { signal },
  );
  return field;
}

/** The controls of filters. */
export const filterForm = (...controls: Node[]): HTMLFormElement =>
  h("form", { class: "filters", role: "search", "aria-label": "Filter", submit: (event: Event) => event.preventDefault() }, ...controls);

/** Whether every word of `text` is in one of `texts`. */
export function hasWords(text: string, texts: string[]): boolean {
  const all = texts.join("\n").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
