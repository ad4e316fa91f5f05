// Filter, selection and keys over the table that the server drew.

import type { Row } from "../contract";
import { onKey } from "../keys";
import { readData } from "../mount";
import { DetailsPanel } from "./details";
import { neighbour, urlWith, wants, type Wanted } from "./filter";
import { manyRows, pageRows, type Rows } from "./rows";

export function mountWaterfall(root: HTMLElement): void {
  const body = root.querySelector("tbody");
  const panel = root.querySelector<HTMLElement>(".wf-details");
  if (!body || !panel) return;
  const data = readData<readonly Row[]>("wf-rows");
  const rows = data ? manyRows(body, data) : pageRows(body);
  new WaterfallPage(root, rows, body, panel).start();
}

class WaterfallPage {
  private readonly form: HTMLFormElement | null;
  private readonly details: DetailsPanel;
  private shown: readonly number[] = [];
  private selected: number | null;

  constructor(
    private readonly root: HTMLElement,
    private readonly rows: Rows,
    private readonly body: HTMLTableSectionElement,
    private readonly panel: HTMLElement,
  ) {
    this.form = root.querySelector("form");
    this.details = new DetailsPanel(panel, (number) => `${root.dataset["details"] ?? ""}${number}?unit=${root.dataset["unit"] ?? ""}`);
    const row = body.querySelector(".wf-row.selected");
    this.selected = row ? Number(row.id.slice(1)) : null;
  }

  start(): void {
    this.form?.addEventListener("input", () => this.filter());
    this.form?.addEventListener("submit", (event) => {
      event.preventDefault();
      this.filter();
    });
    this.body.addEventListener("click", (event) => this.click(event));
    onKey("j", () => this.move(1));
    onKey("k", () => this.move(-1));
    onKey("/", (event) => this.focusFilter(event));
    onKey("Enter", (event) => this.enter(event));
    onKey("Escape", () => this.escape());
    this.show();
    this.rows.select(this.selected, false);
  }

  private filter(): void {
    this.show();
    this.remember();
  }

  private show(): void {
    const wanted = this.wanted();
    this.shown = this.rows.all.filter((row) => wants(wanted, row)).map((row) => row.number);
    this.rows.show(this.shown);
    const output = this.root.querySelector("output");
    if (output) output.textContent = `${this.shown.length} of ${this.rows.all.length}`;
    this.root.querySelector(".wf-none")?.toggleAttribute("hidden", this.shown.length > 0);
  }

  private wanted(): Wanted {
    const data = new FormData(this.form ?? undefined);
    const value = (name: string): string => String(data.get(name) ?? "");
    return { text: value("q"), host: value("host"), kind: value("kind") };
  }

  private click(event: MouseEvent): void {
    if (event.ctrlKey || event.metaKey || event.shiftKey || !(event.target instanceof Element)) return;
    const row = event.target.closest("tr.wf-row");
    if (!row || String(getSelection()) !== "") return;
    event.preventDefault();
    this.choose(Number(row.id.slice(1)));
    if (!this.panelIsBeside()) this.panel.scrollIntoView({ block: "start" });
  }

  private move(step: 1 | -1): void {
    const next = neighbour(this.shown, this.selected, step);
    if (next === null) return;
    this.choose(next);
    this.rows.select(next, true);
    this.rows.link(next)?.focus({ preventScroll: true });
  }

  private choose(number: number): void {
    this.selected = number;
    this.rows.select(number, false);
    this.remember();
    void this.details.show(number);
  }

  private focusFilter(event: KeyboardEvent): void {
    const field = this.form?.querySelector<HTMLInputElement>("input[type=search]");
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select();
  }

  private enter(event: KeyboardEvent): void {
    const link = event.target instanceof Element ? event.target.closest("a, button, summary") : null;
    if (this.selected === null || (link !== null && !this.body.contains(link))) return;
    event.preventDefault();
    this.panel.focus();
  }

  private escape(): void {
    if (document.activeElement instanceof HTMLInputElement) return document.activeElement.blur();
    if (this.selected === null) return;
    const left = this.selected;
    this.selected = null;
    this.rows.select(null, false);
    this.rows.link(left)?.focus({ preventScroll: true });
    this.details.clear();
    this.remember();
  }

  private remember(): void {
    history.replaceState(null, "", urlWith(location.href, this.wanted(), this.selected));
  }

  private panelIsBeside(): boolean {
    return getComputedStyle(this.panel).position === "sticky";
  }
}
