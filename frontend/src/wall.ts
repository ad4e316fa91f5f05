// Keeps a wall up to date. Nobody stands before it to load it anew: what changed is put in place of the old without a
// flicker, a service that does not answer is said to, and what a newer version draws differently is loaded whole.

import { whileSeen } from "./repeating";

const EVERY_MS = 15_000;
const TIMEOUT_MS = 10_000;
// One answer that fails to come may be a restart.
export const LOST_AFTER_MS = 40_000;

export function mountWall(root: HTMLElement): void {
  let answeredAt = performance.now();
  whileSeen(async () => {
    const fresh = await ask();
    if (fresh !== null) {
      answeredAt = performance.now();
      if (sheetOf(fresh) !== sheetOf(document)) location.reload();
      renew(root, fresh);
    }
    tell(root, isLost(answeredAt, performance.now()));
    return true;
  }, () => EVERY_MS);
}

/** Whether nobody has answered for so long that what is shown is old. */
export function isLost(answeredAtMs: number, nowMs: number): boolean {
  return nowMs - answeredAtMs > LOST_AFTER_MS;
}

function renew(root: HTMLElement, fresh: Document): void {
  root.className = fresh.querySelector(".wall")?.className ?? root.className;
  const parts = partsOf(fresh);
  partsOf(root).forEach((old, place) => {
    const part = parts[place];
    if (part && !part.isEqualNode(old)) old.replaceWith(part);
  });
  const [at, old] = [fresh, root].map((scope) => scope.querySelector("[data-wall=at]"));
  if (at && old) old.textContent = at.textContent;
}

function tell(root: HTMLElement, lost: boolean): void {
  root.classList.toggle("old", lost);
  const told = root.querySelector<HTMLElement>("[data-wall=lost]");
  if (told) told.hidden = !lost;
}

/** The wall as it is now; null when the service is away. Where the link leads nowhere any more, its page says so. */
async function ask(): Promise<Document | null> {
  try {
    const response = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.status === 404) location.reload();
    if (!response.ok) return null;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    return fresh.querySelector(".wall") ? fresh : null;
  } catch {
    return null;
  }
}

function partsOf(scope: ParentNode): Element[] {
  return [...scope.querySelectorAll("[data-wall=part]")];
}

function sheetOf(page: Document): string {
  return page.querySelector("link[rel=stylesheet]")?.getAttribute("href") ?? "";
}
