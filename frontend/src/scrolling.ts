// A table that is wider than its frame is scrolled, and the keyboard has to reach what it shall scroll. Browsers see to
// it, but not all of them, and none says what is scrolled. Where the table fits, the keyboard finds nothing to stop at.

const FRAME = ".table-wrap";
const sizes = new ResizeObserver((changes) => {
  for (const { target } of changes) mark(target.closest(FRAME));
});

/** Lets the keyboard reach each frame of a table in the scope, as long as there is something to scroll. */
export function reachFrames(scope: ParentNode): void {
  for (const frame of scope.querySelectorAll(FRAME)) {
    mark(frame);
    for (const part of [frame, ...frame.children]) sizes.observe(part);
  }
}

function mark(frame: Element | null): void {
  if (!frame) return;
  if (frame.scrollWidth <= frame.clientWidth) {
    for (const name of ["tabindex", "role", "aria-label"]) frame.removeAttribute(name);
    return;
  }
  frame.setAttribute("tabindex", "0");
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", frame.querySelector("caption")?.textContent ?? "");
}
