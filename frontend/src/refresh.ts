// Keeps a list up to date: the page is asked for again, and its parts (`data-refresh="part"`) are put in place of the old
// ones. Nothing moves under somebody's hands: while the focus is inside, or the tab is hidden, it waits.

import { organisationIn } from "./organisation";
import { whileSeen } from "./repeating";
import { reachFrames } from "./scrolling";

const EVERY_MS = 30_000;

export function mountRefresh(root: HTMLElement): void {
  whileSeen(() => renew(root), () => EVERY_MS);
}

/** False when the page gives way to a new one. */
async function renew(root: HTMLElement): Promise<boolean> {
  if (root.contains(document.activeElement)) return true;
  const fresh = await ask();
  const parts = fresh ? partsOf(fresh) : [];
  const old = partsOf(root);
  // Signed out, or the service is away: the old page stays, and is tried again.
  if (!fresh || parts.length !== old.length || root.contains(document.activeElement)) return true;
  // Somebody has gone over to another organisation in another tab: what it has does not stand under this one's name.
  if (organisationIn(fresh) !== organisationIn(document)) {
    location.reload();
    return false;
  }
  const before = headline(root);
  old.forEach((part, place) => part.replaceWith(parts[place] ?? part));
  reachFrames(root);
  const nav = document.querySelector(".nav");
  if (nav && !nav.contains(document.activeElement)) nav.replaceWith(fresh.querySelector(".nav") ?? nav);
  document.title = fresh.title;
  const after = headline(root);
  const status = document.querySelector<HTMLElement>("[data-refresh=status]");
  if (status && after !== before) status.textContent = after;
  return true;
}

function partsOf(scope: ParentNode): Element[] {
  return [...scope.querySelectorAll("[data-refresh=part]")];
}

function headline(root: HTMLElement): string {
  return root.querySelector(".verdict h2")?.textContent ?? "";
}

async function ask(): Promise<Document | null> {
  try {
    const response = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
    return response.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
  } catch {
    return null;
  }
}
