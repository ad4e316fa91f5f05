// Single keys: links and buttons carry theirs in data-key, and modules add their own. Off where <html data-keys="off">.

type Action = (event: KeyboardEvent) => void;

const actions = new Map<string, Action>();

export function onKey(key: string, action: Action): void {
  actions.set(key, action);
}

export function listenForKeys(page: Document): void {
  page.addEventListener("keydown", (event) => {
    // Under an open dialog nothing moves, and Escape is the dialog's.
    if (!isShortcut(event) || page.documentElement.dataset["keys"] === "off" || page.querySelector("dialog:modal")) return;
    const action = actions.get(event.key) ?? clickOf(page, event.key);
    action?.(event);
  });
}

/** A key alone, outside of what takes text; Escape also there. */
export function isShortcut(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "target">): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  return event.key === "Escape" || !takesText(event.target);
}

function takesText(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, select, textarea, [contenteditable]") !== null;
}

function clickOf(page: Document, key: string): Action | undefined {
  const target = [...page.querySelectorAll<HTMLElement>("[data-key]")].find((element) => element.dataset["key"] === key);
  return target && (() => target.click());
}
