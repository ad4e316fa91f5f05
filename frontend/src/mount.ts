// Starts each module where the page asks for it: <section data-mount="waterfall">. The page works without any of them.

export type Mount = (root: HTMLElement) => void;

export function mountAll(scope: ParentNode, mounts: Readonly<Record<string, Mount>>): void {
  for (const root of scope.querySelectorAll<HTMLElement>("[data-mount]")) {
    mounts[root.dataset["mount"] ?? ""]?.(root);
  }
}

/** The data block `<script type="application/json" id="…">` that the server wrote, null when the page has none. */
export function readData<T>(id: string): T | null {
  const block = document.getElementById(id);
  return block === null ? null : (JSON.parse(block.textContent ?? "null") as T);
}
