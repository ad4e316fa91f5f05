// The rows of one table, either all of them in the page (hidden or shown) or so many that only those in sight are drawn.

import { BAR_HEIGHT, ROW_HEIGHT, type Row } from "../contract";
import type { Filterable } from "./filter";
import { rowHtml, svgHeight } from "./render";
import { offsetsOf, sightOf, widened } from "./sight";

export interface Rows {
  readonly all: readonly Filterable[];
  /** Shows these rows in this order and no others. */
  show(numbers: readonly number[]): void;
  /** Marks one row, or none, and brings it into sight when asked. */
  select(number: number | null, reveal: boolean): void;
  /** Marks the row that is the same request in the other waterfall. */
  match(number: number | null): void;
  /** Looks at a part of the time: from where and how much, in percent. */
  zoom(box: string): void;
  /** The link of a row that is drawn. */
  link(number: number): HTMLAnchorElement | null;
}

/** Where the link of a row leads. */
export type HrefOf = (number: number) => string;

export function pageRows(body: HTMLTableSectionElement, prefix: string): Rows {
  const elements = [...body.rows];
  const all = elements.map((row) => read(row, prefix));
  const byNumber = new Map(all.map((row, index) => [row.number, elements[index]]));
  let order = all.map((row) => row.number);
  let [selected, matched]: (HTMLTableRowElement | undefined)[] = elements.filter((row) => row.classList.contains("selected"));
  return {
    all,
    show(numbers) {
      const shown = new Set(numbers);
      for (const [number, row] of byNumber) if (row && row.hidden === shown.has(number)) row.hidden = !shown.has(number);
      const standing = order.filter((number) => shown.has(number));
      if (numbers.every((number, index) => number === standing[index])) return;
      order = [...numbers, ...order.filter((number) => !shown.has(number))];
      body.append(...order.flatMap((number) => byNumber.get(number) ?? []));
    },
    select(number, reveal) {
      if (selected) mark(selected, false);
      selected = number === null ? undefined : byNumber.get(number);
      if (selected) mark(selected, true);
      if (reveal) selected?.scrollIntoView({ block: "nearest" });
    },
    match(number) {
      matched?.classList.remove("matched");
      matched = number === null ? undefined : byNumber.get(number);
      matched?.classList.add("matched");
    },
    zoom: (box) => look(body, box),
    link: (number) => byNumber.get(number)?.querySelector("a") ?? null,
  };
}

export function manyRows(body: HTMLTableSectionElement, all: readonly Row[], prefix: string, hrefOf: HrefOf): Rows {
  const byNumber = new Map(all.map((row) => [row.number, row]));
  const [above, below] = [spacer(), spacer()];
  let shown: readonly Row[] = all;
  let [selected, matched]: (number | null)[] = [null, null];
  let box = "0 100";
  let rowHeight = 0;
  let offsets = offsetsOf([]);
  let drawn = { from: 0, to: -1 };
  const htmlOf = (row: Row): string => rowHtml(row, { href: hrefOf(row.number), selected: row.number === selected, box, prefix });

  function measure(): void {
    const row = body.querySelector(".wf-row");
    const extra = row?.querySelector(".tall") ? row.querySelector("svg")!.getBoundingClientRect().height - BAR_HEIGHT : 0;
    rowHeight = row ? row.getBoundingClientRect().height - extra : ROW_HEIGHT;
    offsets = offsetsOf(shown.map((one) => rowHeight + svgHeight(one.lanes ?? 1) - BAR_HEIGHT));
  }

  function draw(force: boolean, whole = false): void {
    if (rowHeight === 0) measure();
    const top = above.isConnected ? above.getBoundingClientRect().top : body.getBoundingClientRect().top;
    const seen = whole ? { from: 0, to: shown.length } : sightOf(offsets, -top, window.innerHeight - top);
    if (!force && seen.from >= drawn.from && seen.to <= drawn.to) return;
    drawn = widened(seen, shown.length);
    const focused = body.contains(document.activeElement) ? document.activeElement?.closest("tr")?.id : undefined;
    const template = document.createElement("template");
    template.innerHTML = shown.slice(drawn.from, drawn.to).map(htmlOf).join("");
    [...template.content.children].forEach((row, index) => row.setAttribute("aria-rowindex", String(drawn.from + index + 2)));
    above.style.height = `${offsets[drawn.from] ?? 0}px`;
    below.style.height = `${(offsets[shown.length] ?? 0) - (offsets[drawn.to] ?? 0)}px`;
    body.replaceChildren(above, template.content, below);
    if (matched !== null) document.getElementById(`${prefix}${matched}`)?.classList.add("matched");
    if (focused) document.getElementById(focused)?.querySelector("a")?.focus({ preventScroll: true });
  }

  let asked = false;
  const later = (resized: boolean): void => {
    if (resized) rowHeight = 0;
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw(rowHeight === 0);
    });
  };
  window.addEventListener("scroll", () => later(false), { passive: true });
  window.addEventListener("resize", () => later(true));
  window.addEventListener("beforeprint", () => draw(true, true));
  window.addEventListener("afterprint", () => draw(true));

  return {
    all,
    show(numbers) {
      shown = numbers.flatMap((number) => byNumber.get(number) ?? []);
      body.closest("table")?.setAttribute("aria-rowcount", String(shown.length + 1));
      measure();
      draw(true);
    },
    select(number, reveal) {
      selected = number;
      const index = shown.findIndex((row) => row.number === number);
      const top = above.getBoundingClientRect().top + (offsets[index] ?? 0);
      if (reveal && index !== -1) scrollTo(top, (offsets[index + 1] ?? 0) - (offsets[index] ?? 0));
      draw(false);
      for (const row of body.querySelectorAll<HTMLTableRowElement>(".wf-row")) mark(row, row.id === `${prefix}${number}`);
    },
    match(number) {
      matched = number;
      for (const row of body.querySelectorAll(".matched")) row.classList.remove("matched");
      if (number !== null) document.getElementById(`${prefix}${number}`)?.classList.add("matched");
    },
    zoom(wanted) {
      box = wanted;
      look(body, box);
    },
    link: (number) => document.getElementById(`${prefix}${number}`)?.querySelector("a") ?? null,
  };
}

/** Turns all drawings below an element to a part of the time; heights stay. */
export function look(scope: ParentNode, box: string): void {
  const [left, width] = box.split(" ");
  for (const svg of scope.querySelectorAll(".wf-bar, .wf-strip")) {
    const height = svg.getAttribute("viewBox")?.split(" ")[3];
    svg.setAttribute("viewBox", `${left} 0 ${width} ${height}`);
  }
}

function read(row: HTMLTableRowElement, prefix: string): Filterable {
  const text = (selector: string): string => row.querySelector(selector)?.textContent ?? "";
  const [start, total, size] = (row.dataset["v"] ?? "").split(",").map((one) => (one === "" ? null : Number(one)));
  return {
    number: Number(row.id.slice(prefix.length)),
    name: text("a"),
    url: row.querySelector("a")?.title ?? "",
    host: text(".wf-host"),
    status: text(".wf-status"),
    kind: row.dataset["kind"] ?? "",
    notes: [...row.querySelectorAll(".wf-note")].map((note) => note.lastChild?.textContent ?? ""),
    traits: (row.dataset["is"] ?? "").split(" "),
    start_us: start ?? 0,
    total_us: total ?? null,
    size_bytes: size ?? null,
  };
}

function mark(row: HTMLTableRowElement, selected: boolean): void {
  if (row.classList.contains("selected") === selected) return;
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
