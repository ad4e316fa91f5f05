// The side panel: the server writes it, one request a row; what was seen once is kept.

const KEPT = 200;

export class DetailsPanel {
  private readonly seen = new Map<string, string>();
  private asking: AbortController | null = null;

  constructor(
    private readonly panel: HTMLElement,
    private readonly urlOf: (name: string) => string,
  ) {}

  async show(name: string): Promise<void> {
    this.asking?.abort();
    const kept = this.seen.get(name);
    if (kept !== undefined) return this.fill(kept);
    this.asking = new AbortController();
    this.panel.setAttribute("aria-busy", "true");
    try {
      this.fill(this.keep(name, await this.ask(name, this.asking.signal)));
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") return;
      this.fail();
    }
  }

  clear(): void {
    this.asking?.abort();
    this.say("Choose a row to see its phases, headers and connection.");
  }

  private async ask(name: string, signal: AbortSignal): Promise<string> {
    const response = await fetch(this.urlOf(name), { signal, credentials: "same-origin" });
    if (!response.ok || response.redirected) throw new Error(`the service answered ${response.status}`);
    return response.text();
  }

  private keep(name: string, html: string): string {
    if (this.seen.size >= KEPT) this.seen.clear();
    this.seen.set(name, html);
    return html;
  }

  /** Folded parts stay as the reader left them from one row to the next. */
  private fill(html: string): void {
    const open = new Map([...this.panel.querySelectorAll("details")].map((part) => [titleOf(part), part.open]));
    this.panel.innerHTML = html;
    this.panel.prepend(closing());
    for (const part of this.panel.querySelectorAll("details")) part.open = open.get(titleOf(part)) ?? part.open;
    this.panel.removeAttribute("aria-busy");
    this.panel.scrollTop = 0;
  }

  private fail(): void {
    this.say("The details could not be loaded. Reload the page to see them.");
  }

  private say(sentence: string): void {
    const text = document.createElement("p");
    text.className = "muted";
    text.textContent = sentence;
    this.panel.replaceChildren(closing(), text);
    this.panel.removeAttribute("aria-busy");
  }
}

/** Shown where the panel lies over the rows. */
function closing(): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button small wf-close";
  button.textContent = "Close";
  return button;
}

function titleOf(part: HTMLDetailsElement): string {
  return (part.querySelector("summary")?.textContent ?? "").replace(/ \(.*/, "");
}
