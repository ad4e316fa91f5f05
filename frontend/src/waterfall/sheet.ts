// The sheet of keys: `?` opens it, Escape closes it as any dialog.

import { onKey } from "../keys";

export function mountSheet(root: HTMLElement): void {
  const sheet = root.querySelector("dialog");
  if (!sheet) return;
  const open = (): void => {
    tellOnlyWhatWorks(sheet);
    sheet.showModal();
  };
  onKey("?", open);
  root.querySelector(".wf-keys")?.addEventListener("click", open);
  sheet.addEventListener("click", (event) => {
    if (event.target === sheet) sheet.close();
  });
}

/** Keys of links and buttons stand in the sheet where the page has one of them. */
function tellOnlyWhatWorks(sheet: HTMLElement): void {
  const there = new Set(Array.from(document.querySelectorAll<HTMLElement>("[data-key]"), (one) => one.dataset["key"]));
  for (const part of sheet.querySelectorAll<HTMLElement>("[data-needs]")) {
    part.hidden = !part.dataset["needs"]?.split(" ").some((key) => there.has(key));
  }
}
