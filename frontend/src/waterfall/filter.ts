// Which rows a reader wants to see: the twin of backend/web/waterfall/wanted.py, for typing without a reload.

import type { Row } from "../contract";

export type Filterable = Pick<Row, "number" | "url" | "host" | "status" | "kind" | "note">;

export interface Wanted {
  readonly text: string;
  readonly host: string;
  readonly kind: string;
}

export function wants(wanted: Wanted, row: Filterable): boolean {
  if (wanted.host !== "" && row.host !== wanted.host) return false;
  if (wanted.kind !== "" && row.kind !== wanted.kind) return false;
  const text = `${row.url} ${row.host} ${row.status} ${row.kind} ${row.note}`.toLowerCase();
  return text.includes(wanted.text.trim().toLowerCase());
}

/** The page's URL with this filter and selection in it, without what is empty; other parameters stay. */
export function urlWith(href: string, wanted: Wanted, selected: number | null): string {
  const url = new URL(href);
  const values = { q: wanted.text.trim(), host: wanted.host, kind: wanted.kind, request: selected === null ? "" : String(selected) };
  for (const [name, value] of Object.entries(values)) {
    if (value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  url.searchParams.delete("from");
  url.hash = "";
  return url.href;
}

/** The row to go to from the selected one: the next of those shown in a direction, the first when none is selected. */
export function neighbour(shown: readonly number[], selected: number | null, step: 1 | -1): number | null {
  const at = selected === null ? -1 : shown.indexOf(selected);
  if (at === -1) return shown[0] ?? null;
  return shown[Math.min(Math.max(at + step, 0), shown.length - 1)] ?? null;
}
