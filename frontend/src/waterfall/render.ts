// Rows and lines as HTML: the twin of backend/web/templatetags/waterfall.py, for what only the script draws.

import { BAR_HEIGHT, LABEL_HEIGHT, LANE_HEIGHT, LANE_SHAPES, NOTE_SIGNS, PHASES, type RowData, TINY_PERCENT } from "../contract";
import { duration, size } from "../format";
import { type Label, lanesOf, type Mark, type Tick } from "./axis";

const SIGNS: Readonly<Record<string, string>> = NOTE_SIGNS;

export interface Drawn {
  readonly href: string;
  readonly selected: boolean;
  readonly box: string;
  readonly prefix: string;
  /** The row's place in the table, counted with its head from 1, where the page does not hold all rows. */
  readonly index?: number;
}

export function rowHtml(row: RowData, { href, selected, box, prefix, index }: Drawn): string {
  const classes = ["wf-row", row.tint, (row.lanes ?? 1) === 1 ? "" : "high", selected ? "selected" : ""].filter(Boolean).join(" ");
  const current = selected ? ' aria-current="true"' : "";
  const link = `<a href="${escape(href)}#details" title="${escape(row.url)}"${current}>${escape(row.name)}</a>`;
  const place = index === undefined ? "" : ` aria-rowindex="${index}"`;
  const notes = (row.notes ?? []).map((note) => `<span class="wf-note">${sign(note)}${escape(note)}</span> `).join("");
  return (
    `<tr role="row" class="${classes}" id="${prefix}${row.number}" data-kind="${escape(row.kind ?? "")}" data-is="${(row.traits ?? []).join(" ")}"` +
    ` data-v="${row.start_us},${row.open_us ?? row.total_us ?? ""},${row.size_bytes ?? ""}"${row.match == null ? "" : ` data-match="${row.match}"`}${place}>` +
    `<td role="cell" class="wf-number">${row.number}</td>` +
    `<th scope="row" role="rowheader" class="wf-name">${link} ${notes}<span class="wf-host">${escape(row.host ?? "")}</span></th>` +
    `<td role="cell" class="wf-status">${escape(row.status)}</td>` +
    `<td role="cell" class="wf-size">${size(row.size_bytes ?? null)}</td>` +
    `<td role="cell" class="wf-time">${time(row)}</td>` +
    `<td role="cell" class="wf-cell">${barHtml(row, box)}</td>` +
    "</tr>"
  );
}

/** Of what was still open when the load was left, how long it was by then. */
function time(row: RowData): string {
  return row.open_us == null ? duration(row.total_us ?? null) : `&gt;${duration(row.open_us)}`;
}

/** The height of a row's drawing in pixels. */
export function svgHeight(lanes: number): number {
  return lanes === 1 ? BAR_HEIGHT : lanes * LANE_HEIGHT;
}

/** Ticks and lines over all rows; `lanes` is how many lines of labels have room. */
export function marksHtml(ticks: readonly Tick[], marks: readonly Mark[], lanes = lanesOf(marks)): string {
  return [
    ...ticks.map((tick) => line("wf-tick", tick.x, LABEL_HEIGHT * lanes)),
    ...marks.map((mark) => line(`wf-mark m-${mark.key}`, mark.x, LABEL_HEIGHT * mark.lane + 2)),
  ].join("");
}

/** What those lines are, above the first row and before all lines. */
export function labelsHtml(ticks: readonly Tick[], marks: readonly Mark[], lanes = lanesOf(marks)): string {
  const top = LABEL_HEIGHT * lanes;
  const named = marks.filter((mark) => mark.text !== "");
  return [
    ...ticks.map((tick) => label(tick.isTight ? "wf-tick-text tight" : "wf-tick-text", tick, top + 14)),
    ...named.map((mark) => label(`wf-mark-text m-${mark.key}`, mark, LABEL_HEIGHT * mark.lane + 11)),
  ].join("");
}

function line(classes: string, x: number, top: number): string {
  return `<line class="${classes}" x1="${x}%" x2="${x}%" y1="${top}" y2="100%"/>`;
}

function label(classes: string, { x, anchor, text }: Label, y: number): string {
  return `<text class="${classes}" x="${x}%" dx="${anchor === "end" ? -4 : 4}" y="${y}" text-anchor="${anchor}">${escape(text)}</text>`;
}

function sign(note: string): string {
  const found = SIGNS[note];
  return found === undefined ? "" : `<i aria-hidden="true">${found}</i> `;
}

function barHtml(row: RowData, box: string): string {
  const lanes = row.lanes ?? 1;
  const height = svgHeight(lanes);
  const [left, width] = box.split(" ");
  const [tall, attribute] = lanes === 1 ? ["", ""] : [" tall", ` height="${height}"`];
  return (
    `<svg class="wf-bar${tall}" viewBox="${left} 0 ${width} ${height}" preserveAspectRatio="none"${attribute}` +
    ` role="img" aria-label="${escape(row.spoken)}">${row.bars === "" ? "" : row.bars.split("\n").map((bar) => rectangle(bar, lanes)).join("")}</svg>`
  );
}

/** One line of `RowData.bars`: phase, from where, how wide, and lane and title where rows have lanes. */
function rectangle(bar: string, lanes: number): string {
  const [index, x, width, lane = "0", ...words] = bar.split(" ");
  const phase = PHASES[Number(index)] ?? "idle";
  const tiny = Number(width) < TINY_PERCENT ? " t" : "";
  const shape = `class="p-${phase}${tiny}" x="${x}" width="${width}"${lanes === 1 ? "" : place(phase, Number(lane), lanes)}`;
  const title = words.join(" ");
  return title === "" ? `<rect ${shape}/>` : `<rect ${shape}><title>${escape(title)}</title></rect>`;
}

/** Where one lane is all there is, `shapes.css` says it for all rows. */
function place(phase: keyof typeof LANE_SHAPES, lane: number, lanes: number): string {
  const [top, height] = LANE_SHAPES[phase];
  const [y, h] = lane < 0 ? [top, (lanes - 1) * LANE_HEIGHT + height] : [lane * LANE_HEIGHT + top, height];
  return ` y="${y}" height="${h}"`;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };

export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
