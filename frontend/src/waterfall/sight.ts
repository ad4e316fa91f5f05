// Which of very many rows are in sight. Pure.

export interface Sight {
  readonly from: number;
  readonly to: number;
}

// Rows kept above and below what is seen, so that a short scroll finds them drawn.
export const SPARE_ROWS = 12;
// How many of them one frame makes besides the rows that come into sight: few enough for a frame.
export const SPARE_AT_ONCE = 6;

/** Where each row begins, in pixels from the first one's top; the last entry is where all end. */
export function offsetsOf(heights: readonly number[]): Float64Array {
  const offsets = new Float64Array(heights.length + 1);
  heights.forEach((height, index) => (offsets[index + 1] = (offsets[index] ?? 0) + height));
  return offsets;
}

/** The rows [from, to) between two heights, in pixels from the first row's top. */
export function sightOf(offsets: Float64Array, top: number, bottom: number): Sight {
  const total = offsets.length - 1;
  const from = Math.min(Math.max(rowAt(offsets, top), 0), total);
  return { from, to: Math.min(Math.max(rowAt(offsets, bottom) + 1, from), total) };
}

/** A sight with spare rows on both sides. */
export function widened(sight: Sight, total: number): Sight {
  if (total === 0) return sight;
  return { from: Math.max(sight.from - SPARE_ROWS, 0), to: Math.min(sight.to + SPARE_ROWS, total) };
}

/** The next rows to hold on the way to what is wanted: all that are seen, and spare ones a few at a time. */
export function towards(drawn: Sight, seen: Sight, total: number): Sight {
  if (seen.from > drawn.to || seen.to < drawn.from) return seen;
  const wanted = widened(seen, total);
  return {
    from: Math.min(seen.from, Math.max(wanted.from, drawn.from - SPARE_AT_ONCE)),
    to: Math.max(seen.to, Math.min(wanted.to, drawn.to + SPARE_AT_ONCE)),
  };
}

/** The row that holds a height: -1 above all, the number of rows below all. */
function rowAt(offsets: Float64Array, y: number): number {
  if (y < 0) return -1;
  let [low, high] = [0, offsets.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((offsets[middle] ?? 0) <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}
