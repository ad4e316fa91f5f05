// One row as HTML: the twin of `_row` in backend/web/templatetags/waterfall.py, for the rows that only the script draws.

import type { Bar, Row } from "../contract";

// Top and height of each phase (ECOSYSTEM 3.5).
const SHAPES: Readonly<Record<Bar["phase"], readonly [number, number]>> = {
  queued: [5, 4],
  idle: [5, 4],
  dns: [2, 10],
  connect: [2, 10],
  tls: [2, 10],
  wait: [2, 10],
  download: [0, 14],
};

export function rowHtml(row: Row, href: string, selected: boolean): string {
  const classes = ["wf-row", row.tint, selected ? "selected" : ""].filter(Boolean).join(" ");
  const current = selected ? ' aria-current="true"' : "";
  const link = `<a href="${escape(href)}#details" title="${escape(row.url)}"${current}>${escape(row.name)}</a>`;
  const note = row.note ? `<span class="wf-note">${escape(row.note)}</span> ` : "";
  return (
    `<tr class="${classes}" id="r${row.number}" data-kind="${escape(row.kind)}">` +
    `<td class="wf-number">${row.number}</td>` +
    `<th scope="row" class="wf-name">${link} ${note}<span class="wf-host">${escape(row.host)}</span></th>` +
    `<td class="wf-status">${escape(row.status)}</td>` +
    `<td class="wf-size">${escape(row.size)}</td>` +
    `<td class="wf-time">${escape(row.time)}</td>` +
    `<td class="wf-cell">${barHtml(row)}</td>` +
    "</tr>"
  );
}

function barHtml(row: Row): string {
  return `<svg class="wf-bar" role="img" aria-label="${escape(row.spoken)}">${row.bars.map(rectangle).join("")}</svg>`;
}

function rectangle(bar: Bar): string {
  const [top, height] = SHAPES[bar.phase];
  return `<rect class="p-${bar.phase}" x="${bar.x}%" width="${bar.width}%" y="${top}" height="${height}"/>`;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };

export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
