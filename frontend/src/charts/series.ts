// The service's series -> what Chart.js draws. Pure.

import type { ChartConfiguration, ChartDataset, Point, TooltipItem } from "chart.js";
import type { PhaseSeries, RegionSeries, SeriesPoint } from "../contract";
import { milliseconds, shortDuration } from "../format";
import { SERIES, type Theme } from "./theme";
import { timeText, timeTicks } from "./time";

type Fault = "failed" | "missed" | "disturbed";
type Line = ChartDataset<"line", Point[]>;

// Radii in CSS pixels; of more points than this only the line is drawn.
const DOT = 2, RING = 2, MAX_DOTS = 60;

// Lines are told apart by the shapes of their points as well; of many points some have one, each line's at others. Shapes
// that are filled are no marks of faults.
const SHAPES = ["circle", "triangle", "rectRot", "rect", "star", "rectRounded"] as const;
const SHAPE = 4, SHAPES_A_LINE = 10;

// The name of the releases' line, and its scale from top to bottom.
const DEPLOY = "Deploy", MARKS = "marks";

// So many times the usual step between two points is a pause.
const PAUSE = 3;

const COLORS: Readonly<Record<string, string>> = {
  ttfb_ms: "text",
  dns_ms: "phase-dns",
  connect_ms: "phase-connect",
  tls_ms: "phase-tls",
  wait_ms: "phase-wait",
  download_ms: "phase-download",
  total_ms: "muted",
  fcp_ms: "mark-fcp",
  lcp_ms: "mark-lcp",
  load_ms: "mark-load",
  fully_loaded_ms: "muted",
  start_render_ms: "phase-download",
  speed_index: "phase-wait",
  tbt_ms: "phase-connect",
};

export function chartConfig(series: PhaseSeries, theme: Theme): ChartConfiguration<"line", Point[]> {
  const [only, ...others] = series.regions;
  const lines = only && others.length === 0 && series.metrics.length > 1 ? phaseLines(only, series, theme) : regionLines(series, theme);
  return {
    type: "line",
    data: { datasets: [...lines, ...faultMarks(series, theme), ...deployMarks(series, theme)] },
    options: {
      animation: false,
      parsing: false,
      normalized: true,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      font: { family: theme.font, size: 12 },
      color: theme.text,
      // Deploys stand from top to bottom, whatever the durations are.
      scales: { x: timeScale(series, theme), y: durationScale(theme, lines), [MARKS]: { type: "linear", axis: "y", display: false, min: 0, max: 1 } },
      plugins: { legend: legend(theme), tooltip: tooltip(series) },
    },
  };
}

/** One region: a line for each of the metrics, the first byte dashed since it is the sum of others. */
function phaseLines(region: RegionSeries, series: PhaseSeries, theme: Theme): Line[] {
  return series.metrics.map((metric, place) => {
    const drawn = line(series.names[place] ?? "", region.points, place, theme.color(COLORS[metric] ?? "text"));
    return { ...drawn, borderDash: metric === "ttfb_ms" ? [5, 3] : [] };
  });
}

/** Several regions: the first metric of each. */
function regionLines(series: PhaseSeries, theme: Theme): Line[] {
  const lines = series.regions.map((region, index) => line(region.name, region.points, 0, theme.color(SERIES[index % SERIES.length] ?? "")));
  return ringed(lines.length > 1 ? lines.map((one, index) => shaped(one, index, lines.length)) : lines);
}

/** With a shape of its own, at points at which the other lines have none where these are many. */
function shaped(line: Line, index: number, lines: number): Line {
  const radii = line.pointRadius as number[];
  const step = Math.ceil(radii.length / SHAPES_A_LINE);
  const place = Math.floor((step * index) / lines);
  const sparse = radii.map((radius, k) => (radius || (k % step === place ? SHAPE : 0)));
  return withDots({ ...line, pointStyle: SHAPES[index % SHAPES.length] ?? "circle" }, radii.length > MAX_DOTS ? sparse : radii);
}

/** The first line is drawn last: a dot that lies under those of lines before it becomes a ring around them. */
function ringed(lines: readonly Line[]): Line[] {
  const near = Math.max(...lines.flatMap((line) => line.data.map((point) => point.y || 0))) / 100;
  return lines.map((line, index) => {
    const above = lines.slice(0, index).flatMap((other) => other.data);
    const dots = line.pointRadius as number[];
    return withDots(line, dots.map((radius, k) => radius && radius + RING * above.filter((other) => hides(other, line.data[k], near)).length));
  });
}

function hides(other: Point, point: Point | undefined, near: number): boolean {
  return other.x === point?.x && Math.abs((other.y ?? NaN) - (point.y ?? NaN)) <= near;
}

/** The values at one place of each point. */
function line(label: string, points: readonly SeriesPoint[], place: number, color: string): Line {
  const data = points.flatMap((point, k) => [
    ...(isAfterPause(points, k) ? [{ x: point.at_ms - 1, y: NaN }] : []),
    { x: point.at_ms, y: point.values[place] ?? NaN },
  ]);
  const style = { label, data, borderColor: color, backgroundColor: color, borderWidth: 2, spanGaps: false };
  return withDots(style, data.map((_, k) => (data.length > MAX_DOTS && !isAlone(data, k) ? 0 : DOT)));
}

/** Whether a point came much later than those around it come after each other: nothing was to be measured meanwhile. */
function isAfterPause(points: readonly SeriesPoint[], place: number): boolean {
  const step = (at: number) => (points[at]?.at_ms ?? NaN) - (points[at - 1]?.at_ms ?? NaN);
  const around = [step(place - 1), step(place + 1)].filter((ms) => !Number.isNaN(ms));
  return around.length > 0 && step(place) > PAUSE * Math.max(...around);
}

function withDots(line: Line, radii: number[]): Line {
  return { ...line, pointRadius: radii, pointHoverRadius: radii.map((radius) => Math.max(radius, DOT) + 2) };
}

/** A value between two gaps: no line leads to it. */
function isAlone(data: readonly Point[], place: number): boolean {
  const isGap = (at: number) => Number.isNaN(data[at]?.y ?? NaN);
  return !isGap(place) && isGap(place - 1) && isGap(place + 1);
}

/** Stretches with runs that failed or did not take place, or whose every run other work disturbed: shapes on the
 * ground line, never a gap or a peak without a word. */
function faultMarks(series: PhaseSeries, theme: Theme): Line[] {
  const points = series.regions.flatMap((region) => region.points);
  const marks: Line[] = [
    { ...marksAt(points, "failed", theme.bad), label: "Failed", pointStyle: "crossRot" },
    { ...marksAt(points, "missed", theme.muted), label: "Missed", pointStyle: "rect", backgroundColor: "transparent" },
    { ...marksAt(points, "disturbed", theme.muted), label: "Disturbed", pointStyle: "rectRot", backgroundColor: "transparent" },
  ];
  return marks.filter((mark) => mark.data.length > 0);
}

function marksAt(points: readonly SeriesPoint[], kind: Fault, color: string): Line {
  const times = new Set(points.filter((point) => point[kind] > 0).map((point) => point.at_ms));
  return {
    data: [...times].sort((a, b) => a - b).map((x) => ({ x, y: 0 })),
    showLine: false,
    pointRadius: 5,
    pointHoverRadius: 6,
    pointBorderWidth: 2,
    borderColor: color,
    backgroundColor: color,
    clip: false,
  };
}

/** Releases, each an upright line with its mark at the top: what changed after it can be seen beside it. */
function deployMarks(series: PhaseSeries, theme: Theme): Line[] {
  if (series.deploys.length === 0) return [];
  const times = [...new Set(series.deploys.map((deploy) => deploy.at_ms))];
  const data = times.flatMap((x) => [{ x, y: 1 }, { x, y: 0 }, { x, y: NaN }]);
  const mark = (usual: number): number[] => data.map((point) => (point.y === 1 ? usual : 0));
  const color = { borderColor: theme.muted, backgroundColor: theme.muted, borderWidth: 1, borderDash: [2, 3] };
  const points = { pointStyle: "triangle" as const, pointRotation: 180, pointRadius: mark(5), pointHoverRadius: mark(6) };
  return [{ ...color, ...points, label: DEPLOY, data, yAxisID: MARKS, spanGaps: false, clip: false }];
}

function timeScale(series: PhaseSeries, theme: Theme) {
  const text = timeText(series.until_ms - series.since_ms, series.zone);
  return {
    type: "linear" as const,
    min: series.since_ms,
    max: series.until_ms,
    afterBuildTicks: (axis: { ticks: { value: number }[] }) => {
      axis.ticks = timeTicks(series.since_ms, series.until_ms, series.zone).map((value) => ({ value }));
    },
    ticks: { color: theme.muted, callback: (value: string | number) => text(Number(value)), maxRotation: 0, autoSkipPadding: 12 },
    grid: { color: theme.line },
    border: { color: theme.line },
  };
}

/** Without a value there is no scale: the library would make one up. */
function durationScale(theme: Theme, lines: readonly Line[]) {
  const isKnown = lines.some((one) => one.data.some((point) => !Number.isNaN(point.y)));
  return {
    display: isKnown,
    beginAtZero: true,
    ticks: { color: theme.muted, callback: (value: string | number) => shortDuration(Math.round(Number(value) * 1000)) },
    grid: { color: theme.line },
    border: { display: false },
  };
}

function legend(theme: Theme) {
  return { position: "bottom" as const, labels: { color: theme.text, usePointStyle: true, boxHeight: 7 } };
}

function tooltip(series: PhaseSeries) {
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", timeZone: series.zone });
  return {
    mode: "x" as const,
    filter: (item: TooltipItem<"line">) => item.dataset.yAxisID !== MARKS || item.parsed.y === 1,
    callbacks: {
      title: (items: readonly TooltipItem<"line">[]) => day.format(items[0]?.parsed.x ?? series.since_ms),
      label: (item: TooltipItem<"line">) => {
        const [at, label] = [item.parsed.x ?? 0, item.dataset.label ?? ""];
        if (item.dataset.yAxisID === MARKS) return deployWords(series, at);
        return item.dataset.showLine === false ? faultWords(series, at, label) : `${label}: ${milliseconds(item.parsed.y)}`;
      },
    },
  };
}

/** Which releases came into force then: `Deploy 9f3c2e1`. */
export function deployWords(series: PhaseSeries, at: number): string {
  return `${DEPLOY} ${series.deploys.filter((deploy) => deploy.at_ms === at).map((deploy) => deploy.name).join(", ")}`;
}

/** How many, and of which line if there are several: `Frankfurt: 2 failed, Virginia: 1`. */
export function faultWords(series: PhaseSeries, at: number, label: string): string {
  const kind = label.toLowerCase() as Fault;
  const counts = series.regions.map((region) => ({ name: region.name, count: region.points.find((point) => point.at_ms === at)?.[kind] ?? 0 }));
  const [first, ...others] = counts.filter(({ count }) => count > 0);
  if (!first || counts.length === 1) return `${first?.count ?? 0} ${kind}`;
  return [`${first.name}: ${first.count} ${kind}`, ...others.map(({ count, name }) => `${name}: ${count}`)].join(", ");
}
