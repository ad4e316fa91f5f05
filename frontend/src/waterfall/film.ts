// The film over the waterfall: what the screen showed at equal steps of the time that is looked at. The twin of
// backend/web/waterfall/film.py. Pure.

import { FILM_SLOTS, type FilmData } from "../contract";
import { duration } from "../format";
import { type Axis, rounded } from "./axis";

export function filmHtml(film: FilmData, view: Axis): string {
  const width = rounded(100 / FILM_SLOTS);
  const step = (view.end_us - view.start_us) / FILM_SLOTS;
  let before = -1;
  return Array.from({ length: FILM_SLOTS }, (_, slot) => {
    // A picture stands for what is seen at the end of its slot: the last change until then.
    const until = view.start_us + Math.floor(step * (slot + 1));
    const shown = film.at_us.filter((at) => at <= until).length - 1;
    const changed = shown !== before && slot > 0;
    before = shown;
    return shown < 0 ? "" : pictureHtml(film, shown, { x: rounded((100 * slot) / FILM_SLOTS), width, changed, text: textOf(film, shown, until - view.zero_us) });
  }).join("");
}

interface Slot {
  readonly x: number;
  readonly width: number;
  readonly changed: boolean;
  readonly text: string;
}

function pictureHtml(film: FilmData, frame: number, { x, width, changed, text }: Slot): string {
  const columns = Math.min(film.columns, film.at_us.length);
  const rows = Math.ceil(film.at_us.length / columns);
  const [left, top] = [(frame % columns) * film.width, Math.floor(frame / columns) * film.height];
  return (
    `<svg class="wf-picture${changed ? " changed" : ""}" x="${x}%" width="${width}%" height="100%"` +
    ` viewBox="0 0 ${film.width} ${film.height}" preserveAspectRatio="xMidYMid meet"><title>${text}</title>` +
    `<image href="${film.url}" x="${-left}" y="${-top}" width="${film.width * columns}" height="${film.height * rows}"/>` +
    `<rect class="wf-picture-edge" width="${film.width}" height="${film.height}"/></svg>`
  );
}

function textOf(film: FilmData, frame: number, at_us: number): string {
  return `At ${duration(at_us)}: ${Math.round((film.complete_ppm[frame] ?? 0) / 10_000)} % of the last picture`;
}
