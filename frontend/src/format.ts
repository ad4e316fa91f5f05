// How numbers become text: the twin of backend/web/units.py, tested by the same golden table.

export const ABSENT = "–";

const MS = 1_000;
const S = 1_000_000;

/** Microseconds as `0.08 ms`, `4.2 ms`, `317 ms`, `1.84 s`. */
export function duration(us: number | null): string {
  if (us === null) return ABSENT;
  if (us < 0) return `−${duration(-us)}`;
  if (us === 0) return "0 ms";
  if (us < 995) return `${decimal(us, MS, 2)} ms`;
  if (us < 9_950) return `${decimal(us, MS, 1)} ms`;
  if (us < 999_500) return `${decimal(us, MS, 0)} ms`;
  return `${decimal(us, S, 2)} s`;
}

/** Milliseconds, as the service gives them to a page, in the same words. */
export function milliseconds(ms: number | null): string {
  return duration(ms === null ? null : Math.round(ms * MS));
}

/** Bytes as `312 B`, `4.2 kB`, `73 kB`, `1.3 MB`. */
export function size(bytes: number | null): string {
  if (bytes === null) return ABSENT;
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 9_950) return `${decimal(bytes, 1_000, 1)} kB`;
  if (bytes < 999_500) return `${decimal(bytes, 1_000, 0)} kB`;
  if (bytes < 999_950_000) return `${decimal(bytes, 1_000_000, 1)} MB`;
  return `${decimal(bytes, 1_000_000_000, 1)} GB`;
}

/** `1,204`. */
export function count(number: number | null): string {
  return number === null ? ABSENT : thousands(number);
}

/** Microseconds for an axis, without trailing zeros: `0`, `0.5 ms`, `200 ms`, `1.5 s`; before zero with a minus sign. */
export function shortDuration(us: number): string {
  if (us < 0) return `−${shortDuration(-us)}`;
  if (us === 0) return "0";
  const [unit, name] = us >= S ? [S, "s"] : [MS, "ms"];
  return `${decimal(us, unit, 3).replace(/\.?0+$/, "")} ${name}`;
}

/** A quotient with so many decimals, halves rounded up: in whole numbers, since toFixed rounds what a double holds. */
function decimal(value: number, unit: number, places: number): string {
  const scale = 10 ** places;
  const steps = Math.floor((2 * value * scale + unit) / (2 * unit));
  const whole = thousands(Math.floor(steps / scale));
  return places === 0 ? whole : `${whole}.${String(steps % scale).padStart(places, "0")}`;
}

function thousands(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}
