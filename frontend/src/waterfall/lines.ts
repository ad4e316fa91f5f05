// The number cards switch their lines on and off: a card that has a line becomes a button.

import type { Moment } from "../contract";

type Key = Moment["key"];

export function lineButtons(hidden: Set<Key>, changed: () => void): void {
  for (const card of document.querySelectorAll<HTMLElement>("[data-line]")) {
    const keys = (card.dataset["line"] ?? "").split(" ") as Key[];
    const label = card.querySelector<HTMLElement>(".metric-label");
    if (!label) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = `line-switch m-${keys[0]}`;
    button.textContent = label.textContent;
    button.title = "Show or hide its line in the waterfall";
    const say = (): void => button.setAttribute("aria-pressed", String(!keys.every((key) => hidden.has(key))));
    button.addEventListener("click", () => {
      const hide = button.getAttribute("aria-pressed") === "true";
      for (const key of keys) hide ? hidden.add(key) : hidden.delete(key);
      say();
      changed();
    });
    say();
    label.replaceChildren(button);
  }
}
