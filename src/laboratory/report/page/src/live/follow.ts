// Follows the store through the events of `lathe serve`, while somebody looks at the page.
import type { Change } from "../data/live";
import { visibleIn } from "../data/visible";
import { h } from "../ui/dom";

const retry = 3000, // ms
  patience = 20000; // of a page that nobody sees

/**
 * Calls `changed` for every event after `position`. A hidden page closes its connection after some seconds, because a
 * browser opens only six to one server. When the page is visible again, it receives the events that it has missed.
 */
export function follow(
  position: string,
  changed: (change: Change) => void,
  connected: (is: boolean) => void,
): void {
  let source: EventSource | undefined,
    last = position,
    waiting = 0;
  const open = () => {
    clearTimeout(waiting);
    source?.close();
    source = new EventSource(`/events?from=${encodeURIComponent(last)}`);
    source.addEventListener("open", () => connected(true));
    source.addEventListener("change", (event) => {
      last = event.lastEventId || last;
      changed(visibleIn(JSON.parse(event.data as string) as Change));
    });
    source.addEventListener("error", () => {
      connected(false);
      if (source?.readyState !== EventSource.CLOSED || document.hidden) return; // it tries by itself, or when it is seen
      clearTimeout(waiting);
      waiting = window.setTimeout(open, retry);
    });
  };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(waiting);
    if (!document.hidden) {
      if (!source || source.readyState === EventSource.CLOSED) open();
    } else
      waiting = window.setTimeout(() => {
        source?.close();
        source = undefined;
      }, patience);
  });
  open();
}

/** The line that says whether the page follows, and what is wrong with the store. */
export class FollowState {
  readonly element = h("p", { class: "follow", role: "status" });
  private connection = true;
  private trouble = "";
  connected(is: boolean): void {
    this.connection = is;
    this.tell();
  }
  troubled(text: string): void {
    this.trouble = text;
    this.tell();
  }
  private tell(): void {
    const text = this.trouble
      ? `The store cannot be read: ${this.trouble}`
      : this.connection
        ? ""
        : "lathe serve does not answer; trying again …";
    if (this.element.textContent !== text) this.element.textContent = text;
    this.element.classList.toggle("wrong", text !== "");
  }
}
