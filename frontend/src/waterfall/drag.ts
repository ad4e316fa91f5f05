// Choosing a stretch of time with the pointer, on the axis over the rows.

import { duration } from "../format";
import type { Pane } from "./pane";

// A shorter stretch is a hand that shook while it clicked.
const LEAST_PIXELS = 4;

export function onDrag(pane: Pane, chosen: (from_us: number, to_us: number) => void, reset: () => void): void {
  const axis = pane.frame.querySelector<HTMLElement>("thead .wf-cell");
  if (!axis) return;
  const band = document.createElement("div");
  band.className = "wf-band";
  band.hidden = true;
  const length = band.appendChild(document.createElement("b"));
  pane.frame.append(band);
  let begin: number | null = null;

  const draw = (x: number): void => {
    const [plot, frame] = [pane.plot(), pane.frame.getBoundingClientRect()];
    const [left, right] = [Math.min(begin ?? x, x), Math.max(begin ?? x, x)].map((one) => Math.min(Math.max(one, plot.left), plot.right));
    band.hidden = false;
    band.style.left = `${(left ?? 0) - frame.left}px`;
    band.style.width = `${(right ?? 0) - (left ?? 0)}px`;
    length.textContent = duration(Math.round(Math.abs(pane.instantAt(x) - pane.instantAt(begin ?? x))));
  };
  axis.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    begin = event.clientX;
    axis.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  axis.addEventListener("pointermove", (event) => {
    if (begin !== null) draw(event.clientX);
  });
  axis.addEventListener("pointerup", (event) => {
    if (begin !== null && Math.abs(event.clientX - begin) >= LEAST_PIXELS) chosen(pane.instantAt(begin), pane.instantAt(event.clientX));
    begin = null;
    band.hidden = true;
  });
  axis.addEventListener("pointercancel", () => {
    begin = null;
    band.hidden = true;
  });
  axis.addEventListener("dblclick", reset);
}
