// Which of very many rows are in sight. Pure.

export interface Sight {
  readonly from: number;
  readonly to: number;
}

// Rows kept above and below what is seen, so that a short scroll finds them drawn.
export const SPARE_ROWS = 20;

/** The rows [from, to) to draw. `top` is where the first row stands relative to the window's upper edge, all in pixels. */
export function sightOf(top: number, windowHeight: number, rowHeight: number, total: number): Sight {
  const first = Math.floor(-top / rowHeight) - SPARE_ROWS;
  const last = Math.ceil((windowHeight - top) / rowHeight) + SPARE_ROWS;
  const from = Math.min(Math.max(first, 0), total);
  return { from, to: Math.min(Math.max(last, from), total) };
}
