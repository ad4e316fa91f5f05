// Follows runs on their way: asks the service, puts the words in place, and shows results as soon as there are any.
//
// <section data-mount="live" data-progress="/tests/…/progress"> holds [data-live=summary], progress[data-live=bar],
// [data-live=status] (role=status), one li[data-run="<id>"] with a [data-live=state] for each run, and
// [data-live=results], which is taken anew from the page itself whenever one more run has finished.

import { type LiveProgress, pauseMs, stepOf, summary, words } from "./progress";

const ANNOUNCE_EVERY_MS = 5_000;
const SILENCE_MS = 60_000;

export function mountLive(root: HTMLElement): void {
  new LivePage(root).start();
}

class LivePage {
  private readonly startedAt = Date.now();
  private readonly title = document.title;
  private etag = "";
  private changedAt = Date.now();
  private announcedAt = 0;
  private done: number | null = null;
  private timer = 0;

  constructor(private readonly root: HTMLElement) {}

  start(): void {
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) clearTimeout(this.timer);
      else void this.tick();
    });
    void this.tick();
  }

  private async tick(): Promise<void> {
    clearTimeout(this.timer);
    const progress = await this.ask().catch(() => undefined);
    if (progress === undefined) this.say("The service does not answer; trying again.");
    if (progress) this.show(progress);
    if (progress?.state === "done") return location.reload();
    if (progress === null) this.noticeSilence();
    if (!document.hidden) this.timer = window.setTimeout(() => void this.tick(), pauseMs(Date.now() - this.startedAt));
  }

  /** Null when nothing changed since the last answer. */
  private async ask(): Promise<LiveProgress | null> {
    const headers = this.etag ? { "If-None-Match": this.etag } : undefined;
    const response = await fetch(this.root.dataset["progress"] ?? "", { credentials: "same-origin", cache: "no-store", ...(headers && { headers }) });
    if (response.status === 304) return null;
    if (!response.ok) throw new Error(`the service answered ${response.status}`);
    this.etag = response.headers.get("ETag") ?? "";
    return (await response.json()) as LiveProgress;
  }

  private show(progress: LiveProgress): void {
    this.changedAt = Date.now();
    for (const run of progress.runs) {
      const item = this.root.querySelector<HTMLElement>(`[data-run="${CSS.escape(run.id)}"]`);
      if (!item) continue;
      item.classList.remove("todo", "now", "done", "failed");
      item.classList.add(stepOf(run));
      (item.querySelector("[data-live=state]") ?? item).textContent = words(run);
    }
    const bar = this.root.querySelector<HTMLProgressElement>("progress[data-live=bar]");
    if (bar) [bar.max, bar.value] = [progress.total, progress.done];
    const text = summary(progress);
    const line = this.root.querySelector("[data-live=summary]");
    if (line) line.textContent = text;
    this.say(text);
    document.title = `${progress.done}/${progress.total} · ${this.title}`;
    if (this.done !== null && progress.done > this.done && progress.state !== "done") void this.refreshResults();
    this.done = progress.done;
  }

  private async refreshResults(): Promise<void> {
    const response = await fetch(location.href, { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const [old, fresh] = [this.root, page].map((scope) => scope.querySelector("[data-live=results]"));
    if (old && fresh) old.replaceWith(document.adoptNode(fresh));
  }

  /** At most one announcement in five seconds, so that a screen reader can follow. */
  private say(text: string): void {
    const status = this.root.querySelector("[data-live=status]");
    if (!status || status.textContent === text || Date.now() - this.announcedAt < ANNOUNCE_EVERY_MS) return;
    status.textContent = text;
    this.announcedAt = Date.now();
  }

  private noticeSilence(): void {
    const silentMs = Date.now() - this.changedAt;
    if (silentMs < SILENCE_MS) return;
    const last = new Intl.DateTimeFormat(undefined, { timeStyle: "short" }).format(this.changedAt);
    this.say(`Nothing new for ${Math.floor(silentMs / 60_000)} min (last news ${last}).`);
  }
}
