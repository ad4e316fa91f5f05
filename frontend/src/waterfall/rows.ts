// The rows of one table, either all of them in the page (hidden or shown) or so many that only those in sight are drawn.

import { BAR_HEIGHT, ROW_HEIGHT, type RowData } from "../contract";
import type { Filterable } from "./filter";
import { rowHtml, svgHeight } from "./render";
import { offsetsOf, type Sight, sightOf, towards } from "./sight";

export interface Rows {
  readonly all: readonly Filterable[];
  has(number: number): boolean;
  /** Shows these rows in this order and no others. */
  show(numbers: readonly number[]): void;
  /** Marks one row, or none, and brings it into sight when asked: just so, or with as many rows above as below. */
  select(number: number | null, reveal: Reveal): void;
  /** Marks the row that is the same request in the other waterfall. */
  match(number: number | null): void;
  /** Looks at a part of the time: from where and how much, in percent. */
  zoom(box: string): void;
  /** The link of a row that is drawn. */
  link(number: number): HTMLAnchorElement | null;
}

export type Reveal = "no" | "nearest" | "center";

/** Where the link of a row leads. */
export type HrefOf = (number: number) => string;

export function pageRows(body: HTMLTableSectionElement, prefix: string): Rows {
  const byNumber = new Map([...body.rows].map((row) => [Number(row.id.slice(prefix.length)), row]));
  let all: readonly Filterable[] | null = null;
  let order = [...byNumber.keys()];
  let selected = body.querySelector<HTMLTableRowElement>(".selected") ?? undefined;
  let matched: HTMLTableRowElement | undefined;
  return {
    /** Read when it is first asked for: a page that is only looked at needs none of it. */
    get all() {
      return (all ??= [...byNumber].map(([number, row]) => read(row, number)));
    },
    has: (number) => byNumber.has(number),
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
      if (reveal !== "no") selected?.scrollIntoView({ block: reveal });
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

export function manyRows(body: HTMLTableSectionElement, all: readonly RowData[], prefix: string, hrefOf: HrefOf): Rows {
  const byNumber = new Map(all.map((row) => [row.number, row]));
  const [above, below] = [spacer(), spacer()];
  let shown: readonly RowData[] = all;
  let [selected, matched]: (number | null)[] = [null, null];
  let box = "0 100";
  let rowHeight = 0;
  let offsets = offsetsOf([]);
  let drawn: Sight = { from: 0, to: 0 };

  function htmlOf(from: number, to: number): string {
    const drawnAs = (row: RowData, index: number): string =>
      rowHtml(row, { href: hrefOf(row.number), selected: row.number === selected, box, prefix, index: from + index + 2 });
    return shown.slice(from, to).map(drawnAs).join("");
  }

  /** Rows are as high as the first one is without its lanes, which differs with the window's width. */
  function measure(): void {
    const row = body.querySelector(".wf-row");
    const bar = row?.querySelector("svg");
    rowHeight = row && bar ? row.getBoundingClientRect().height - bar.getBoundingClientRect().height + BAR_HEIGHT : ROW_HEIGHT;
    offsets = offsetsOf(shown.map((one) => rowHeight + svgHeight(one.lanes ?? 1) - BAR_HEIGHT));
  }

  /** One step towards the rows in sight and the spare ones around them; the frames after this one take the others. */
  function draw(force: boolean, whole = false): void {
    if (rowHeight === 0) measure();
    const top = above.isConnected ? above.getBoundingClientRect().top : body.getBoundingClientRect().top;
    const seen = whole ? { from: 0, to: shown.length } : sightOf(offsets, -top, window.innerHeight - top);
    const next = force ? seen : towards(drawn, seen, shown.length);
    if (!force && next.from === drawn.from && next.to === drawn.to) return;
    if (force || next.from >= drawn.to || next.to <= drawn.from) replace(next);
    else extend(next);
    drawn = next;
    above.style.height = `${offsets[next.from] ?? 0}px`;
    below.style.height = `${(offsets[shown.length] ?? 0) - (offsets[next.to] ?? 0)}px`;
    if (matched !== null) document.getElementById(`${prefix}${matched}`)?.classList.add("matched");
    if (!whole) later(false);
  }

  function replace(next: Sight): void {
    const focused = body.contains(document.activeElement) ? document.activeElement?.closest("tr")?.id : undefined;
    body.innerHTML = htmlOf(next.from, next.to);
    body.prepend(above);
    body.append(below);
    if (focused) document.getElementById(focused)?.querySelector("a")?.focus({ preventScroll: true });
  }

  /** Rows that stay are left as they are: while a reader scrolls only those are made that come into sight. */
  function extend(next: Sight): void {
    for (let index = drawn.from; index < next.from; index++) above.nextSibling?.remove();
    for (let index = next.to; index < drawn.to; index++) below.previousSibling?.remove();
    above.insertAdjacentHTML("afterend", htmlOf(next.from, drawn.from));
    below.insertAdjacentHTML("beforebegin", htmlOf(drawn.to, next.to));
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
    has: (number) => byNumber.has(number),
    show(numbers) {
      shown = numbers.flatMap((number) => byNumber.get(number) ?? []);
      body.closest("table")?.setAttribute("aria-rowcount", String(shown.length + 1));
      measure();
      draw(true);
      const before = rowHeight;
      measure();
      if (rowHeight !== before) draw(true);
    },
    select(number, reveal) {
      selected = number;
      const index = shown.findIndex((row) => row.number === number);
      const top = above.getBoundingClientRect().top + (offsets[index] ?? 0);
      if (reveal !== "no" && index !== -1) scrollTo(top, (offsets[index + 1] ?? 0) - (offsets[index] ?? 0), reveal);
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

function read(row: HTMLTableRowElement, number: number): Filterable {
  const text = (selector: string): string => row.querySelector(selector)?.textContent ?? "";
  const [start, total, size] = (row.dataset["v"] ?? "").split(",").map((one) => (one === "" ? null : Number(one)));
  return {
    number,
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
    match: row.dataset["match"] === undefined ? null : Number(row.dataset["match"]),
  };
}

function mark(row: HTMLTableRowElement, selected: boolean): void {
  if (row.classList.contains("selected") === selected) return;
  row.classList.toggle("selected", selected);
  const link = row.querySelector("a");
  if (selected) link?.setAttribute("aria-current", "true");
  else link?.removeAttribute("aria-current");
}

function scrollTo(top: number, height: number, reveal: "nearest" | "center"): void {
  const room = window.innerHeight - height;
  if (reveal === "nearest" && top >= 0 && top <= room) return;
  const by = reveal === "center" ? top - room / 2 : top < 0 ? top : top - room;
  window.scrollBy({ top: by, behavior: "instant" });
}

function spacer(): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.setAttribute("aria-hidden", "true");
  return row;
}
