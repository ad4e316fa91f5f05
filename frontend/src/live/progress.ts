// What the service says of runs on their way (ECOSYSTEM 3.6), and how it is said to people. Pure.

import type { ProgressStage } from "../contract";

export interface LiveRun {
  readonly id: string;
  readonly region: string;
  readonly state: ProgressStage | "failed" | "missed";
  readonly requests?: number | null;
  readonly queue_position?: number | null;
  readonly about_s?: number | null;
  readonly summary?: string | null;
}

export interface LiveProgress {
  readonly state: "running" | "done";
  readonly done: number;
  readonly total: number;
  readonly eta_s?: number | null;
  readonly runs: readonly LiveRun[];
}

/** How long to wait before asking again: a person looks closely at first. */
export function pauseMs(elapsedMs: number): number {
  if (elapsedMs < 30_000) return 1_000;
  return elapsedMs < 180_000 ? 2_000 : 10_000;
}

export function words(run: LiveRun): string {
  switch (run.state) {
    case "queued":
      return ["queued", queueWords(run)].filter(Boolean).join(" ");
    case "starting":
      return "starting";
    case "connecting":
      return "connecting";
    case "loading":
      return run.requests ? `loading, ${run.requests} request${run.requests === 1 ? "" : "s"} so far` : "loading";
    case "computing":
      return "computing";
    default:
      return run.summary || run.state;
  }
}

function queueWords(run: LiveRun): string {
  const place = run.queue_position ? `place ${run.queue_position}` : "";
  const about = run.about_s ? `about ${run.about_s} s` : "";
  const both = [place, about].filter(Boolean).join(", ");
  return both && `(${both})`;
}

/** The class of a step: it decides the shape before the words. */
export function stepOf(run: LiveRun): "todo" | "now" | "done" | "failed" {
  if (run.state === "queued") return "todo";
  if (run.state === "done") return "done";
  return run.state === "failed" || run.state === "missed" ? "failed" : "now";
}

export function summary(progress: LiveProgress): string {
  const finished = `${progress.done} of ${progress.total} runs finished`;
  return progress.eta_s ? `${finished}, about ${progress.eta_s} s left` : finished;
}
