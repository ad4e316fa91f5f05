// The time axis: ticks at round times, and lines with labels that never lie on each other. The twin of
// backend/web/waterfall/axis.py, for zooming without a reload; a golden file holds both to the same answers. Pure.

import { LABEL_PERCENT, LAST_TICK_PERCENT, MAX_TICKS, type Moment, TICK_PERCENT } from "../contract";
import { shortDuration } from "../format";

export interface Axis {
  readonly start_us: number;
  readonly end_us: number;
  readonly zero_us: number;
}

export interface Label {
  readonly x: number;
  readonly text: string;
  readonly anchor: "start" | "end";
}

export interface Tick extends Label {
  /** Whether its text would meet the one before where the axis is short: there it is left out. */
  readonly isTight: boolean;
}

export interface Mark extends Label {
  readonly key: Moment["key"];
  readonly lane: number;
}

export function xOf(axis: Axis, us: number): number {
  const share = (us - axis.start_us) / (axis.end_us - axis.start_us);
  return rounded(100 * Math.min(Math.max(share, 0), 1));
}

export function ticksOf(axis: Axis): Tick[] {
  const length = axis.end_us - axis.start_us;
  const step = roundStep(length);
  const isClose = (100 * step) / length < 2 * TICK_PERCENT;
  const first = Math.ceil((axis.start_us - axis.zero_us) / step);
  const ticks: Tick[] = [];
  for (let us = first * step; us < axis.end_us - axis.zero_us; us += step) {
    const x = xOf(axis, axis.zero_us + us);
    const isLast = x > LAST_TICK_PERCENT;
    const isTight = isLast && isClose && ticks.length > 0;
    ticks.push({ x, text: shortDuration(us), anchor: isLast ? "end" : "start", isTight });
  }
  return ticks;
}

export function marksOn(axis: Axis, moments: readonly Moment[]): Mark[] {
  const taken: Room[] = [];
  const inOrder = [...moments].sort((one, other) => one.at_us - other.at_us);
  return inOrder
    .filter(({ at_us }) => axis.start_us <= at_us && at_us <= axis.end_us)
    .map(({ key, text, at_us }) => {
      const x = xOf(axis, at_us);
      const room: Pick<Room, "lane" | "anchor"> = text === "" ? { lane: 0, anchor: "start" } : roomFor(taken, x);
      return { key, text, x, lane: room.lane, anchor: room.anchor };
    });
}

interface Room {
  readonly lane: number;
  readonly anchor: "start" | "end";
  readonly left: number;
}

/** The uppermost line that has room for a label, right of its mark before left of it; the room is then taken. */
function roomFor(taken: Room[], x: number): Room {
  for (let lane = 0; ; lane++) {
    for (const anchor of ["start", "end"] as const) {
      const room = { lane, anchor, left: anchor === "start" ? x : x - LABEL_PERCENT };
      const isFree = !taken.some((other) => other.lane === lane && Math.abs(other.left - room.left) < LABEL_PERCENT);
      if (room.left >= 0 && room.left + LABEL_PERCENT <= 100 && isFree) {
        taken.push(room);
        return room;
      }
    }
  }
}

export function lanesOf(marks: readonly Mark[]): number {
  return Math.max(0, ...marks.filter((mark) => mark.text !== "").map((mark) => mark.lane + 1));
}

export function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

function roundStep(length: number): number {
  for (let power = 1; ; power *= 10) {
    for (const factor of [1, 2, 5]) if (length <= power * factor * MAX_TICKS) return power * factor;
  }
}
