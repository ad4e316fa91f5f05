// The colours of charts are the tokens of the style sheet, read when the chart is drawn.

export interface Theme {
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly bad: string;
  readonly font: string;
  color(name: string): string;
}

/** `light-dark()` stays unresolved in a custom property, so a real property of a probe element is asked. */
export function themeOf(element: HTMLElement): Theme {
  const probe = document.createElement("span");
  probe.hidden = true;
  element.append(probe);
  const color = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const [text, muted, line] = [color("text"), color("muted"), color("line")];
  // Where the reader's own colours rule, all would be told as one, and no line from the other.
  probe.style.setProperty("forced-color-adjust", "none");
  const bad = color("bad");
  const named = new Map(COLORS.map((name) => [name, color(name)]));
  probe.remove();
  return { text, muted, line, bad, font: getComputedStyle(element).fontFamily, color: (name) => named.get(name) ?? text };
}

export const SERIES = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6"] as const;
const PHASES = ["phase-dns", "phase-connect", "phase-tls", "phase-wait", "phase-download"];
const COLORS = [...SERIES, ...PHASES, "muted", "mark-fcp", "mark-lcp", "mark-load"];
