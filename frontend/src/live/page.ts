// Follows runs on their way: asks the service and puts its words in place. The marks are described in sites/trial.html.

import { whileSeen } from "../repeating";
import { Announcer, clockOf, type LiveProgress, pauseMs, silence } from "./progress";

const ANNOUNCE_EVERY_MS = 5_000;

export function mountLive(root: HTMLElement): void {
  if (root.dataset["state"] === "running") new LivePage(root).start();
}

class LivePage {
  private readonly startedAt = Date.now();
  private readonly announcer = new Announcer(ANNOUNCE_EVERY_MS);
  private etag = "";
  private summary: string;
  private changedAt = Date.now();
  private readonly clock: (atMs: number) => string;

  constructor(private readonly root: HTMLElement) {
    this.summary = this.part("summary")?.textContent ?? "";
    this.clock = clockOf(root.dataset["zone"] ?? "UTC");
  }

  start(): void {
    whileSeen(() => this.follow(), () => pauseMs(Date.now() - this.startedAt));
  }

  /** False when the page gives way to a new one. */
  private async follow(): Promise<boolean> {
    try {
      const progress = await this.ask();
      if (progress?.state === "done" || (progress && !this.show(progress))) {
        location.reload();
        return false;
      }
      if (progress) await this.draw(progress.phases_of ?? "");
      this.say([this.summary, silence(this.changedAt, Date.now(), this.clock)].filter(Boolean).join(". "));
    } catch {
      this.say("The service does not answer; trying again.");
    }
    return true;
  }

  /** Null when nothing changed since the last answer. */
  private async ask(): Promise<LiveProgress | null> {
    const headers: HeadersInit = this.etag ? { "If-None-Match": this.etag } : {};
    const address = this.root.dataset["progressUrl"] ?? "";
    const response = await fetch(address, { headers, credentials: "same-origin", cache: "no-store" });
    if (response.status === 304) return null;
    if (!response.ok) throw new Error(`the service answered ${response.status}`);
    this.etag = response.headers.get("ETag") ?? "";
    return (await response.json()) as LiveProgress;
  }

  /** False when the page does not know one of the runs: a second attempt has taken over, and the page is to be loaded anew. */
  private show(progress: LiveProgress): boolean {
    this.changedAt = Date.now();
    this.summary = progress.summary;
    for (const run of progress.runs) {
      const line = this.root.querySelector<HTMLElement>(`[data-run="${CSS.escape(run.id)}"]`);
      if (!line) return false;
      line.className = run.mark;
      this.write(line.querySelector("[data-live=text]"), run.text);
      const link = line.querySelector<HTMLAnchorElement>("a[data-live=link]");
      link?.toggleAttribute("hidden", run.url === null);
      if (run.url !== null) link?.setAttribute("href", run.url);
    }
    const bar = this.root.querySelector<HTMLProgressElement>("progress[data-live=bar]");
    if (bar) bar.value = progress.done;
    document.title = `${progress.done}/${progress.total} · ${this.root.dataset["site"] ?? ""}`;
    return true;
  }

  /** Puts other phases, or none any more, in the place of those that are drawn. */
  private async draw(phases: string): Promise<void> {
    const drawn = document.querySelector<HTMLElement>("[data-live=phases]");
    if (!drawn || drawn.dataset["phases"] === phases) return;
    // What is not put in place now is asked for again.
    const etag = this.etag;
    this.etag = "";
    const response = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
    if (!response.ok) throw new Error(`the service answered ${response.status}`);
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[data-live=phases]");
    if (!fresh) return;
    drawn.replaceWith(fresh);
    this.etag = etag;
  }

  /** At most one announcement in five seconds, so that a screen reader can follow. */
  private say(text: string): void {
    const next = this.announcer.next(text, Date.now());
    if (next !== null) this.write(this.part("summary"), next);
  }

  private part(name: string): HTMLElement | null {
    return this.root.querySelector(`[data-live=${name}]`);
  }

  private write(element: Element | null, text: string): void {
    if (element && element.textContent !== text) element.textContent = text;
  }
}
