// The rows of one table, either all of them in the page (hidden or shown) or so many that only those in sight are drawn.

import type { Row } from "../contract";
import type { Filterable } from "./filter";
import { rowHtml } from "./render";
import { sightOf } from "./sight";

export interface Rows {
  readonly all: readonly Filterable[];
  /** Shows these rows and no others. */
  show(numbers: readonly number[]): void;
  /** Marks one row, or none, and brings it into sight when asked. */
  select(number: number | null, reveal: boolean): void;
  /** The link of a row that is drawn. */
  link(number: number): HTMLAnchorElement | null;
}

export function pageRows(body: HTMLTableSectionElement): Rows {
  const rows = [...body.rows];
  const all = rows.map(read);
  const byNumber = new Map(all.map((row, index) => [row.number, rows[index]]));
  return {
    all,
    show(numbers) {
      const shown = new Set(numbers);
      for (const [number, row] of byNumber) row?.toggleAttribute("hidden", !shown.has(number));
    },
    select(number, reveal) {
      for (const [other, row] of byNumber) if (row) mark(row, other === number);
      if (reveal && number !== null) byNumber.get(number)?.scrollIntoView({ block: "nearest" });
    },
    link: (number) => byNumber.get(number)?.querySelector("a") ?? null,
  };
}

export function manyRows(body: HTMLTableSectionElement, all: readonly Row[]): Rows {
  const byNumber = new Map(all.map((row, index) => [row.number, { row, index }]));
  const rowHeight = body.rows[0]?.getBoundingClientRect().height ?? 27;
  const [above, below] = [spacer(), spacer()];
  let shown: readonly Row[] = all;
  let selected: number | null = null;
  let drawn = "";

  function draw(force: boolean): void {
    const top = (above.isConnected ? above : body).getBoundingClientRect().top;
    const sight = sightOf(top, window.innerHeight, rowHeight, shown.length);
    const state = `${sight.from}-${sight.to}`;
    if (!force && state === drawn) return;
    drawn = state;
    const focused = body.contains(document.activeElement) ? document.activeElement?.closest("tr")?.id : undefined;
    const rows = shown.slice(sight.from, sight.to);
    const html = rows.map((row) => rowHtml(row, hrefOf(row.number), row.number === selected)).join("");
    above.style.height = `${sight.from * rowHeight}px`;
    below.style.height = `${(shown.length - sight.to) * rowHeight}px`;
    const template = document.createElement("template");
    template.innerHTML = html;
    [...template.content.children].forEach((row, index) => row.setAttribute("aria-rowindex", String(sight.from + index + 2)));
    body.replaceChildren(above, template.content, below);
    if (focused) document.getElementById(focused)?.querySelector("a")?.focus({ preventScroll: true });
  }

  let asked = false;
  const later = (): void => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw(false);
    });
  };
  window.addEventListener("scroll", later, { passive: true });
  window.addEventListener("resize", later);

  return {
    all,
    show(numbers) {
      shown = numbers.flatMap((number) => byNumber.get(number)?.row ?? []);
      body.closest("table")?.setAttribute("aria-rowcount", String(shown.length + 1));
      draw(true);
    },
    select(number, reveal) {
      selected = number;
      const index = shown.findIndex((row) => row.number === number);
      if (reveal && index !== -1) scrollTo(above.getBoundingClientRect().top + index * rowHeight, rowHeight);
      draw(true);
    },
    link: (number) => document.getElementById(`r${number}`)?.querySelector("a") ?? null,
  };
}

export function hrefOf(number: number): string {
  const query = new URLSearchParams(location.search);
  query.set("request", String(number));
  return `?${query}`;
}

function read(row: HTMLTableRowElement): Filterable {
  const text = (selector: string): string => row.querySelector(selector)?.textContent ?? "";
  return {
    number: Number(row.id.slice(1)),
    url: row.querySelector("a")?.title ?? "",
    host: text(".wf-host"),
    status: text(".wf-status"),
    kind: row.dataset["kind"] ?? "",
    note: text(".wf-note"),
  };
}

function mark(row: HTMLTableRowElement, selected: boolean): void {
  row.classList.toggle("selected", selected);
  const link = row.querySelector("a");
  if (selected) link?.setAttribute("aria-current", "true");
  else link?.removeAttribute("aria-current");
}

function scrollTo(top: number, height: number): void {
  if (top >= 0 && top + height <= window.innerHeight) return;
  const by = top < 0 ? top : top + height - window.innerHeight;
  window.scrollBy({ top: by, behavior: "instant" });
}

function spacer(): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.setAttribute("aria-hidden", "true");
  return row;
}
