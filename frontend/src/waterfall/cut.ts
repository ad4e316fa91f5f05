// A row's notes and host share a narrow column with its name: what they say is told under the pointer too.

export function tellWhatIsCut(root: HTMLElement): void {
  root.addEventListener("pointerover", (event) => {
    const name = event.target instanceof Element ? event.target.closest<HTMLElement>("td.wf-name, th.wf-name") : null;
    if (name && !name.title && name.closest(".wf-row")) name.title = told(name);
  });
}

function told(name: HTMLElement): string {
  const texts = Array.from(name.querySelectorAll(".wf-note, .wf-host"), (part) => words(part));
  return texts.filter(Boolean).join(" · ");
}

/** Without the signs, which only repeat in shape what the words say. */
function words(part: Element): string {
  return Array.from(part.childNodes, (node) => (node instanceof Element && node.ariaHidden ? "" : node.textContent)).join("").trim();
}
