// When work is done: what is in sight at once, other work later, in pieces, while the browser is idle.

const waiting = new Set<() => void>();
let running = false;

/** Resolves when the browser has nothing to paint, at the latest after 0.1 s. Safari cannot tell. */
export const idle = (): Promise<void> =>
  new Promise((resume) =>
    "requestIdleCallback" in window ? requestIdleCallback(() => resume(), { timeout: 100 }) : setTimeout(resume, 30),
  );

async function run(): Promise<void> {
  running = true;
  try {
    for (;;) {
      await idle();
      const [work] = waiting;
      if (!work) break;
      waiting.delete(work);
      work();
    }
  } finally {
    running = false;
  }
}

/** Does `work` in a quiet moment; work that already waits is done once. */
export function later(work: () => void): void {
  waiting.add(work);
  if (!running) void run();
}

/** Whether a part of an element is in the window. */
export function inSight(element: HTMLElement): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom >= 0 && top <= innerHeight;
}

/** Tells readers, and tests, that an element shows what is no longer true. */
export function setBusy(element: HTMLElement, busy: boolean): void {
  if (busy) element.setAttribute("aria-busy", "true");
  else element.removeAttribute("aria-busy");
}
