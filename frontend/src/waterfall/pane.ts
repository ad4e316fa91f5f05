// One waterfall of a page: its rows, its lines and strips, and the part of the time it shows.

import { type ChartData, type Moment, ROW_HEIGHT } from "../contract";
import { readData } from "../mount";
import { type Axis, lanesOf, marksOn, ticksOf } from "./axis";
import { filmHtml } from "./film";
import { labelsHtml, marksHtml } from "./render";
import { type HrefOf, look, manyRows, pageRows, type Rows } from "./rows";
import { boxOf } from "./zoom";

// Below the tools and the lines no usual window shows more at first.
const FIRST_ROWS = 20;

export class Pane {
  readonly prefix: string;
  readonly rows: Rows;
  readonly full: Axis;
  view: Axis;

  constructor(
    readonly frame: HTMLElement,
    body: HTMLTableSectionElement,
    private readonly data: ChartData,
    hrefOf: HrefOf,
  ) {
    this.prefix = frame.dataset["pane"] ?? "r";
    this.full = { start_us: data.start_us, end_us: data.end_us, zero_us: data.zero_us };
    this.view = this.full;
    if (!data.rows) letWait(body);
    this.rows = data.rows ? manyRows(body, data.rows, this.prefix, hrefOf) : pageRows(body, this.prefix);
  }

  /** The waterfall in a frame; null for one that the page holds no data of. */
  static of(frame: HTMLElement, hrefOf: (prefix: string, number: number) => string): Pane | null {
    const body = frame.querySelector("tbody");
    const prefix = frame.dataset["pane"] ?? "r";
    const data = readData<ChartData>(`wf-data-${prefix}`);
    return body && data ? new Pane(frame, body, data, (number) => hrefOf(prefix, number)) : null;
  }

  /** Whether the script draws the rows: then they wait for it. */
  get isDrawnHere(): boolean {
    return this.data.rows !== null;
  }

  /** Draws all of it anew for a part of the time. */
  show(view: Axis, hidden: ReadonlySet<Moment["key"]>): void {
    const isMoved = view.start_us !== this.view.start_us || view.end_us !== this.view.end_us;
    this.view = view;
    this.lines(hidden, isMoved);
    if (!isMoved) return;
    const box = boxOf(this.full, view);
    this.frame.classList.toggle("zoomed", box !== "0 100");
    this.rows.zoom(box);
    for (const strips of this.frame.querySelectorAll(".wf-strips")) look(strips, box);
    const film = this.frame.querySelector(".wf-film");
    if (film && this.data.film) film.innerHTML = filmHtml(this.data.film, view);
  }

  /** The instant under a place of the window, in pixels from its left edge. */
  instantAt(x: number): number {
    const plot = this.plot();
    const share = Math.min(Math.max((x - plot.left) / plot.width, 0), 1);
    return this.view.start_us + share * (this.view.end_us - this.view.start_us);
  }

  /** Where the time axis lies in the window. */
  plot(): DOMRect {
    return (this.frame.querySelector(".wf-marks") ?? this.frame).getBoundingClientRect();
  }

  private lines(hidden: ReadonlySet<Moment["key"]>, isMoved: boolean): void {
    const marks = marksOn(this.view, this.data.moments.filter((moment) => !hidden.has(moment.key)));
    // Never fewer than there were: rows would move away from under the pointer that zooms.
    const before = isMoved ? Number(/lanes-(\d+)/.exec(this.frame.className)?.[1] ?? 0) : 0;
    const lanes = Math.max(before, lanesOf(marks));
    for (const [name, html] of [[".wf-marks", marksHtml], [".wf-labels", labelsHtml]] as const) {
      const layer = this.frame.querySelector(name);
      if (layer) layer.innerHTML = html(ticksOf(this.view), marks, lanes);
    }
    this.frame.className = this.frame.className.replace(/lanes-\d+/, `lanes-${lanes}`);
  }
}

/** Rows out of sight are laid out when the first picture has been painted; until then they only keep their room. */
function letWait(body: HTMLTableSectionElement): void {
  const rows = [...body.rows].slice(FIRST_ROWS);
  body.style.minHeight = `${body.rows.length * ROW_HEIGHT}px`;
  for (const row of rows) row.classList.add("waits");
  whenLaidOut(() => {
    body.style.minHeight = "";
    for (const row of rows) row.classList.remove("waits");
  });
}

/** Once the first picture has been painted, and all rows that wait for it are laid out. */
export function whenLaidOut(act: () => void): void {
  requestAnimationFrame(() => setTimeout(act));
}
