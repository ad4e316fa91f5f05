// The sheet of keys: `?` opens it, Escape closes it as any dialog.

import { onKey } from "../keys";

export function mountSheet(root: HTMLElement): void {
  const sheet = root.querySelector("dialog");
  if (!sheet) return;
  const open = (): void => sheet.showModal();
  onKey("?", open);
  root.querySelector(".wf-keys")?.addEventListener("click", open);
  sheet.addEventListener("click", (event) => {
    if (event.target === sheet) sheet.close();
  });
}
