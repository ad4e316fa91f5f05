// Filter, order, selection, zoom and keys over one waterfall that the server drew, or two on one axis.

import type { Moment } from "../contract";
import { count } from "../format";
import { onKey } from "../keys";
import type { Axis } from "./axis";
import { tellWhatIsCut } from "./cut";
import { DetailsPanel } from "./details";
import { onDrag } from "./drag";
import { mountPictures } from "./export";
import { neighbour, sorted, urlWith, wants, type Wanted } from "./filter";
import { lineButtons } from "./lines";
import { Pane, whenLaidOut } from "./pane";
import type { Reveal } from "./rows";
import { mountSheet } from "./sheet";
import { partOf, scaled, zoomOf, zoomText } from "./zoom";

const STEP = 2;
// Between a row and the details that lie over the rows below it.
const ROOM_PIXELS = 8;

export function mountWaterfall(root: HTMLElement): void {
  const panel = root.querySelector<HTMLElement>(".wf-details");
  const panes = [...root.querySelectorAll<HTMLElement>(".wf-frame")].flatMap((frame) => Pane.of(frame, hrefOf) ?? []);
  if (!panel || panes.length === 0) return;
  new WaterfallPage(root, panes, panel).start();
}

/** A row's name within the page: "18", and "a18" or "b18" where there are two waterfalls. */
function nameOf(prefix: string, number: number): string {
  return `${prefix === "r" ? "" : prefix}${number}`;
}

function hrefOf(prefix: string, number: number): string {
  return `?${otherChoices(location.search)}request=${nameOf(prefix, number)}`;
}

let [search, choices]: string[] = [];

/** What the address holds besides the row, ready to be followed by it; read once for all rows. */
function otherChoices(now: string): string {
  if (now !== search) {
    const query = new URLSearchParams(now);
    query.delete("request");
    [search, choices] = [now, query.size === 0 ? "" : `${query}&`];
  }
  return choices ?? "";
}

interface Place {
  readonly pane: Pane;
  readonly number: number;
}

class WaterfallPage {
  private readonly form: HTMLFormElement | null;
  private readonly details: DetailsPanel;
  private readonly hidden: Set<Moment["key"]>;
  private shown: readonly string[] | null = null;
  private sort: string;
  private selected: Place | null;
  /** While a key is held rows fly by: only the one at which it is let go is asked for and remembered. */
  private isHeld = false;

  constructor(
    private readonly root: HTMLElement,
    private readonly panes: readonly Pane[],
    private readonly panel: HTMLElement,
  ) {
    const query = new URLSearchParams(location.search);
    this.form = root.querySelector("form[role=search]");
    this.details = new DetailsPanel(panel, (name) => `${root.dataset["details"] ?? ""}${name}?${root.dataset["query"] ?? ""}`);
    this.sort = query.get("sort") ?? "";
    this.hidden = new Set((query.get("hide") ?? "").split(",").filter(Boolean) as Moment["key"][]);
    this.selected = this.placeOf(root.dataset["selected"] ?? "");
  }

  start(): void {
    this.form?.addEventListener("input", (event) => {
      if (event.target instanceof HTMLSelectElement && event.target.name === "sort") this.sortBy(event.target.value);
      else this.filter();
    });
    this.form?.addEventListener("submit", (event) => {
      event.preventDefault();
      this.filter();
    });
    for (const kind of ["pointerdown", "click"]) this.root.addEventListener(kind, ({ target }) => this.lead(target));
    this.root.addEventListener("click", (event) => this.click(event));
    for (const pane of this.panes) onDrag(pane, (from, to) => this.zoom(() => partOf(pane.full, from, to)), () => this.zoom((one) => one.full));
    lineButtons(this.hidden, () => this.draw());
    mountSheet(this.root);
    tellWhatIsCut(this.root);
    mountPictures(this.root);
    this.listen();
    if (this.panes.length > 1) this.pointOut();
    const query = new URLSearchParams(location.search);
    const zoomed = query.get("zoom");
    // Rows that the server drew are as the address asks already.
    if (this.panes.some((pane) => pane.isDrawnHere)) this.show();
    if (zoomed) for (const pane of this.panes) pane.show(zoomOf(pane.full, zoomed), this.hidden);
    if (this.selected && (zoomed || this.panes.length > 1 || this.panes[0]?.isDrawnHere)) this.mark(this.selected, "no");
    // Who comes by the address of a row wants to see it, unless the address leads to its details.
    if (query.has("request") && location.hash === "") whenLaidOut(() => this.mark(this.selected, "center"));
  }

  private listen(): void {
    onKey("j", () => this.move(1));
    onKey("k", () => this.move(-1));
    onKey("ArrowDown", (event) => this.walk(event, () => this.move(1)));
    onKey("ArrowUp", (event) => this.walk(event, () => this.move(-1)));
    onKey("Home", (event) => this.walk(event, () => this.goTo(this.names().at(0))));
    onKey("End", (event) => this.walk(event, () => this.goTo(this.names().at(-1))));
    onKey("/", (event) => this.focusFilter(event));
    onKey("Enter", (event) => this.enter(event));
    onKey("Escape", (event) => this.escape(event));
    onKey("+", () => this.scale(1 / STEP));
    onKey("=", () => this.scale(1 / STEP));
    onKey("-", () => this.scale(STEP));
    onKey("0", () => this.zoom((pane) => pane.full));
    document.addEventListener("keydown", ({ repeat }) => (this.isHeld = repeat), { capture: true });
    document.addEventListener("keyup", () => this.letGo());
  }

  private letGo(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.remember();
    this.tell();
  }

  /** The row under the pointer is marked in the other waterfall, else the one that is looked at. */
  private pointOut(): void {
    this.root.addEventListener("pointerover", (event) => {
      const row = event.target instanceof Element ? event.target.closest("tr.wf-row") : null;
      this.matchOf((row && this.placeOf(row.id)) ?? this.selected);
    });
  }

  private filter(): void {
    this.show();
    this.remember();
  }

  private show(): readonly string[] {
    const wanted = this.wanted();
    const names: string[] = [];
    for (const pane of this.panes) {
      const rows = sorted(pane.rows.all.filter((row) => wants(wanted, row)), wanted.sort).map((row) => row.number);
      pane.rows.show(rows);
      names.push(...rows.map((number) => nameOf(pane.prefix, number)));
    }
    this.shown = names;
    const all = this.panes.reduce((sum, pane) => sum + pane.rows.all.length, 0);
    const output = this.root.querySelector("output");
    if (output) output.textContent = `${count(names.length)} of ${count(all)}`;
    this.root.querySelector(".wf-none")?.toggleAttribute("hidden", names.length > 0);
    return names;
  }

  private wanted(): Wanted {
    const data = new FormData(this.form ?? undefined);
    const value = (name: string): string => String(data.get(name) ?? "");
    return { text: value("q"), host: value("host"), kind: value("kind"), only: value("only"), sort: this.sort };
  }

  /** Links to other rows and views lead there from what is seen now: the server wrote them for what it was asked. */
  private lead(target: EventTarget | null): void {
    const link = target instanceof Element ? target.closest("a") : null;
    const row = link?.dataset["row"] ?? link?.closest("tr.wf-row")?.id.replace(/^r/, "");
    const changes = row === undefined ? link?.dataset["with"] : `request=${row}`;
    if (link && changes !== undefined) link.href = urlWith(location.href, Object.fromEntries(new URLSearchParams(changes)), link.hash);
  }

  private click(event: MouseEvent): void {
    if (event.ctrlKey || event.metaKey || event.shiftKey || !(event.target instanceof Element)) return;
    if (event.target.closest(".wf-close")) return this.escape();
    const button = event.target.closest<HTMLElement>("[data-zoom]");
    if (button) return this.scaleBy(button.dataset["zoom"] ?? "");
    const other = event.target.closest<HTMLElement>("a[data-row]");
    const wanted = other ? this.placeOf(other.dataset["row"] ?? "") : null;
    if (wanted) {
      event.preventDefault();
      return this.choose(wanted, true);
    }
    const heading = event.target.closest<HTMLElement>("[data-sort]");
    if (heading) {
      event.preventDefault();
      return this.order(heading.dataset["sort"] ?? "");
    }
    const row = event.target.closest("tr.wf-row");
    if (!row || String(getSelection()) !== "") return;
    const place = this.placeOf(row.id.replace(/^r/, ""));
    if (!place) return;
    event.preventDefault();
    this.choose(place, false);
    this.raise(row);
  }

  /** Where there is no room beside the rows the details lie over their lower half, with the chosen row above them. */
  private raise(row: Element): void {
    if (getComputedStyle(this.panel).position === "sticky") return;
    this.panel.classList.add("raised");
    const hidden = row.getBoundingClientRect().bottom - this.panel.getBoundingClientRect().top;
    if (hidden > 0) scrollBy({ top: hidden + ROOM_PIXELS });
  }

  /** By the column, the second time from its other end, the third time as it was. */
  private order(column: string): void {
    const first = column === "size" || column === "time" ? `-${column}` : column;
    const second = first.startsWith("-") ? column : `-${column}`;
    this.sortBy(this.sort === first ? second : this.sort === second ? "" : first);
  }

  private sortBy(sort: string): void {
    this.sort = sort;
    const choice = this.form?.querySelector<HTMLSelectElement>("select[name=sort]");
    if (choice) choice.value = sort;
    for (const heading of this.root.querySelectorAll("[aria-sort]")) heading.removeAttribute("aria-sort");
    for (const link of this.root.querySelectorAll<HTMLElement>("[data-sort]")) {
      delete link.dataset["order"];
      if (this.sort.replace("-", "") !== link.dataset["sort"]) continue;
      const order = this.sort.startsWith("-") ? "descending" : "ascending";
      link.dataset["order"] = order;
      link.closest("th")?.setAttribute("aria-sort", order);
    }
    this.filter();
  }

  private move(step: 1 | -1): void {
    const current = this.selected ? nameOf(this.selected.pane.prefix, this.selected.number) : null;
    this.goTo(neighbour(this.names(), current, step) ?? undefined);
  }

  /** The rows that are shown, in their order. */
  private names(): readonly string[] {
    return this.shown ?? this.show();
  }

  /** Arrows, Home and End scroll the page, but from a row they lead to another one. */
  private walk(event: KeyboardEvent, step: () => void): void {
    if (!(event.target instanceof Element) || !event.target.closest(".wf-row")) return;
    event.preventDefault();
    step();
  }

  private goTo(name: string | undefined): void {
    const place = name === undefined ? null : this.placeOf(name);
    if (!place) return;
    this.choose(place, true);
    place.pane.rows.link(place.number)?.focus({ preventScroll: true });
  }

  private choose(place: Place, reveal: boolean): void {
    this.selected = place;
    this.mark(place, reveal ? "nearest" : "no");
    this.remember();
    this.tell();
  }

  private tell(): void {
    if (this.selected && !this.isHeld) void this.details.show(nameOf(this.selected.pane.prefix, this.selected.number));
  }

  private mark(place: Place | null, reveal: Reveal): void {
    for (const pane of this.panes) {
      if (pane === place?.pane) pane.rows.select(place.number, reveal);
      else pane.rows.select(null, "no");
    }
    this.matchOf(place);
  }

  private matchOf(place: Place | null): void {
    if (this.panes.length < 2) return;
    const match = place?.pane.rows.all.find((row) => row.number === place.number)?.match ?? null;
    for (const pane of this.panes) pane.rows.match(place && pane !== place.pane ? match : null);
  }

  private scaleBy(way: string): void {
    if (way === "in") this.scale(1 / STEP);
    else if (way === "out") this.scale(STEP);
    else this.zoom((pane) => pane.full);
  }

  /** Nearer or farther, around the selected row's begin while that is in sight, else around the middle. */
  private scale(factor: number): void {
    this.zoom((pane) => {
      const { full, view } = pane;
      const row = this.selected?.pane === pane ? pane.rows.all.find((one) => one.number === this.selected?.number) : undefined;
      const middle = (view.start_us + view.end_us) / 2;
      const isInSight = row !== undefined && view.start_us <= row.start_us && row.start_us <= view.end_us;
      return scaled(full, view, factor, isInSight ? row.start_us : middle);
    });
  }

  /** All waterfalls show the same time after their zeros: the first pane that has an opinion decides. */
  private zoom(viewOf: (pane: Pane) => Axis): void {
    const leader = this.panes.find((pane) => pane === this.selected?.pane) ?? this.panes[0];
    if (!leader) return;
    const text = zoomText(leader.full, viewOf(leader));
    for (const pane of this.panes) pane.show(zoomOf(pane.full, text), this.hidden);
    this.remember();
  }

  private draw(): void {
    for (const pane of this.panes) pane.show(pane.view, this.hidden);
    this.remember();
  }

  private focusFilter(event: KeyboardEvent): void {
    const field = this.form?.querySelector<HTMLInputElement>("input[type=search]");
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select();
  }

  /** From a row to its own details, from elsewhere to those of the row that is looked at. */
  private enter(event: KeyboardEvent): void {
    const target = event.target instanceof Element ? event.target : null;
    const row = target?.closest("tr.wf-row");
    if (!row && target?.closest("a, button, summary")) return;
    const place = row ? this.placeOf(row.id.replace(/^r/, "")) : this.selected;
    if (!place) return;
    event.preventDefault();
    if (row) this.choose(place, false);
    this.panel.focus();
  }

  private escape(event?: KeyboardEvent): void {
    if (document.activeElement instanceof HTMLInputElement) {
      // Browsers empty a search field on Escape, and tell nobody.
      event?.preventDefault();
      return document.activeElement.blur();
    }
    // There it only folds the list of choices.
    if (document.activeElement instanceof HTMLSelectElement) return;
    this.panel.classList.remove("raised");
    if (this.selected === null) return;
    const { pane, number } = this.selected;
    this.selected = null;
    this.mark(null, "no");
    pane.rows.link(number)?.focus({ preventScroll: true });
    this.details.clear();
    this.remember();
  }

  private remember(): void {
    if (this.isHeld) return;
    const { text, host, kind, only, sort } = this.wanted();
    const [first] = this.panes;
    const zoom = first ? zoomText(first.full, first.view) : "";
    const request = this.selected ? nameOf(this.selected.pane.prefix, this.selected.number) : "";
    const values = { q: text.trim(), host, kind, only, sort, zoom, hide: [...this.hidden].join(","), request };
    history.replaceState(null, "", urlWith(location.href, values));
  }

  private placeOf(name: string): Place | null {
    const prefix = /^[ab]/.exec(name)?.[0] ?? "r";
    const pane = this.panes.find((one) => one.prefix === prefix);
    const number = Number(name.replace(/^[ab]/, ""));
    return pane && name !== "" && pane.rows.has(number) ? { pane, number } : null;
  }
}
