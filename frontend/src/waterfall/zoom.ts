// Which part of the time a reader looks at. Pure; all times in microseconds of the run's clock.

import { MIN_LENGTH_US } from "../contract";
import { type Axis, rounded } from "./axis";

/** The part between two instants, in either order; all of it when they are too close to tell apart. */
export function partOf(full: Axis, one: number, other: number): Axis {
  const start_us = Math.round(Math.max(Math.min(one, other), full.start_us));
  const end_us = Math.round(Math.min(Math.max(one, other), full.end_us));
  return end_us - start_us < MIN_LENGTH_US ? full : { ...full, start_us, end_us };
}

/** The view drawn in or out by a factor around an instant that keeps its place; never more than all of it. */
export function scaled(full: Axis, view: Axis, factor: number, around_us: number): Axis {
  const around = Math.min(Math.max(around_us, view.start_us), view.end_us);
  const whole = full.end_us - full.start_us;
  const length = Math.min(Math.max((view.end_us - view.start_us) * factor, MIN_LENGTH_US), whole);
  if (length >= whole) return full;
  const share = (around - view.start_us) / (view.end_us - view.start_us);
  return moved({ ...full, start_us: around - share * length, end_us: around + (1 - share) * length }, full);
}

/** As the address holds it, in milliseconds from zero; empty for all of it. */
export function zoomText(full: Axis, view: Axis): string {
  if (view.start_us === full.start_us && view.end_us === full.end_us) return "";
  return `${(view.start_us - full.zero_us) / 1000}-${(view.end_us - full.zero_us) / 1000}`;
}

/** What the address holds, whatever it is. */
export function zoomOf(full: Axis, text: string): Axis {
  const found = /^(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)$/.exec(text);
  const [start, end] = [Number(found?.[1]) * 1000 + full.zero_us, Number(found?.[2]) * 1000 + full.zero_us];
  return start < end ? partOf(full, start, end) : full;
}

/** From where and how much of the whole axis is looked at, in percent: "20 35.5". */
export function boxOf(full: Axis, view: Axis): string {
  const whole = full.end_us - full.start_us;
  const left = (100 * (view.start_us - full.start_us)) / whole;
  return `${rounded(left)} ${Math.max(rounded((100 * (view.end_us - view.start_us)) / whole), 0.0001)}`;
}

function moved(view: Axis, full: Axis): Axis {
  const by = Math.max(full.start_us - view.start_us, 0) - Math.max(view.end_us - full.end_us, 0);
  return { ...view, start_us: Math.round(view.start_us + by), end_us: Math.round(view.end_us + by) };
}
