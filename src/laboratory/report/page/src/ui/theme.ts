// Light and dark colours: those of the system, until the reader chooses.
import { h } from "./dom";

export const isDark = (): boolean => document.documentElement.dataset.theme === "dark";

/** The button in the corner. `changed` paints again what does not follow by itself. Storage may be forbidden for local files. */
function themeButton(changed: () => void, signal?: AbortSignal): HTMLElement {
  const root = document.documentElement,
    system = matchMedia("(prefers-color-scheme: dark)");
  const button = h("button", { type: "button", class: "theme" });
  const apply = (dark: boolean) => {
    root.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use ${dark ? "light" : "dark"} colours`);
  };
  let chosen = "";
  try {
    chosen = localStorage.getItem("lathe-theme") ?? "";
  } catch {
    /* without storage the system decides */
  }
  apply(chosen ? chosen === "dark" : system.matches);
  button.addEventListener("click", () => {
    chosen = isDark() ? "light" : "dark";
    apply(chosen === "dark");
    try {
      localStorage.setItem("lathe-theme", chosen);
    } catch {
      /* the choice lasts as long as the page */
    }
    changed();
  });
  system.addEventListener(
    "change",
    (event) => {
      if (chosen) return;
      apply(event.matches);
      changed();
    },
    { signal },
  );
  return button;
}

/** The top of a page. `changed`, `signal`: those of themeButton. */
export const pageHeader = (title: string, about: string | Node, changed = () => {}, signal?: AbortSignal): HTMLElement =>
  h("header", { class: "top" }, h("div", {}, h("h1", {}, title), typeof about === "string" ? h("p", {}, about) : about), themeButton(changed, signal));
