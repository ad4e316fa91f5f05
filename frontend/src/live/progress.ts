// What the service says of runs on their way (backend/web/live.py), and when to ask again. Pure.

export interface LiveRun {
  readonly id: string;
  readonly mark: "todo" | "now" | "done" | "failed";
  readonly text: string;
  readonly url: string | null;
}

export interface LiveProgress {
  readonly state: "running" | "done";
  readonly done: number;
  readonly total: number;
  readonly summary: string;
  /** Names the phases that the page draws; they are drawn anew with another name. */
  readonly phases_of: string | null;
  readonly runs: readonly LiveRun[];
}

/** How long to wait before asking again: a person looks closely at first. */
export function pauseMs(elapsedMs: number): number {
  if (elapsedMs < 30_000) return 1_000;
  return elapsedMs < 180_000 ? 2_000 : 10_000;
}

/** Lets a text through at most once in `everyMs`; what came too early is let through later, if it is still the newest. */
export class Announcer {
  private saidAt = -Infinity;
  private said = "";

  constructor(private readonly everyMs: number) {}

  /** The text to say now, null when it was said already or it is too early. */
  next(text: string, nowMs: number): string | null {
    if (text === this.said || nowMs - this.saidAt < this.everyMs) return null;
    this.said = text;
    this.saidAt = nowMs;
    return text;
  }
}

/** A sentence once nothing has changed for a minute, empty before. */
export function silence(changedAtMs: number, nowMs: number, clock: (atMs: number) => string): string {
  const silentS = Math.floor((nowMs - changedAtMs) / 1000);
  if (silentS < 60) return "";
  const length = silentS < 120 ? `${silentS} s` : `${Math.floor(silentS / 60)} min`;
  return `Nothing new for ${length} (last news ${clock(changedAtMs)}).`;
}

/** Hours and minutes in a zone, as the rest of the page tells them. */
export function clockOf(zone: string): (atMs: number) => string {
  const format = new Intl.DateTimeFormat("en", { timeZone: zone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return (atMs) => format.format(atMs);
}
