// Which rows a reader wants to see and in which order: the twin of backend/web/waterfall/wanted.py, for no reload.

export interface Filterable {
  readonly number: number;
  readonly name: string;
  readonly url: string;
  readonly host?: string;
  readonly status: string;
  readonly kind?: string;
  readonly notes?: readonly string[];
  readonly traits?: readonly string[];
  readonly start_us: number;
  readonly total_us?: number | null;
  /** How long it had been open when the load was left, of what was open then. */
  readonly open_us?: number | null;
  readonly size_bytes?: number | null;
  /** The number of the same request in the other waterfall. */
  readonly match?: number | null;
}

export interface Wanted {
  readonly text: string;
  readonly host: string;
  readonly kind: string;
  readonly only: string;
  readonly sort: string;
}

export function wants(wanted: Wanted, row: Filterable): boolean {
  if (wanted.host !== "" && row.host !== wanted.host) return false;
  if (wanted.kind !== "" && row.kind !== wanted.kind) return false;
  if (wanted.only !== "" && !row.traits?.includes(wanted.only)) return false;
  if (wanted.text === "") return true;
  const text = `${row.name} ${row.url} ${row.host ?? ""} ${row.status} ${row.kind ?? ""} ${row.notes?.join(" ") ?? ""}`.toLowerCase();
  return text.includes(wanted.text.trim().toLowerCase());
}

/** Sorted by a column, `-` before its name from the largest down; what has no value comes last, equal rows stay in order. */
export function sorted<T extends Filterable>(rows: readonly T[], sort: string): readonly T[] {
  const value = VALUES[sort.replace(/^-/, "")];
  if (value === undefined) return rows;
  const direction = sort.startsWith("-") ? -1 : 1;
  return [...rows].sort((one, other) => compared(value(one), value(other), direction));
}

const VALUES: Readonly<Record<string, (row: Filterable) => number | string | null>> = {
  start: (row) => row.start_us,
  number: (row) => row.number,
  name: (row) => row.name.toLowerCase(),
  host: (row) => row.host?.toLowerCase() ?? "",
  status: (row) => row.status.toLowerCase(),
  size: (row) => row.size_bytes ?? null,
  time: (row) => row.open_us ?? row.total_us ?? null,
};

function compared(one: number | string | null, other: number | string | null, direction: number): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return one === other ? 0 : one < other ? -direction : direction;
}

/** The page's URL with these values in it, without what is empty; other parameters stay. */
export function urlWith(href: string, values: Readonly<Record<string, string>>, hash = ""): string {
  const url = new URL(href);
  for (const [name, value] of Object.entries(values)) {
    if (value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  url.searchParams.delete("from");
  url.hash = hash;
  return url.href;
}

/** The row to go to from the selected one: the next of those shown in a direction, the first when none is selected. */
export function neighbour<T>(shown: readonly T[], selected: T | null, step: 1 | -1): T | null {
  const at = selected === null ? -1 : shown.indexOf(selected);
  if (at === -1) return shown[0] ?? null;
  return shown[Math.min(Math.max(at + step, 0), shown.length - 1)] ?? null;
}
