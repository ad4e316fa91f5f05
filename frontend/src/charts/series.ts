// The service's series -> what Chart.js draws. Pure.

import type { ChartConfiguration, ChartDataset, Point, TooltipItem } from "chart.js";
import type { PhaseSeries, RegionSeries, SeriesPoint } from "../contract";
import { milliseconds, shortDuration } from "../format";
import { SERIES, type Theme } from "./theme";
import { timeText, timeTicks } from "./time";

type Metric = PhaseSeries["metrics"][number];
type Line = ChartDataset<"line", Point[]>;

const NAMES: Readonly<Record<Metric, readonly [name: string, color: string]>> = {
  ttfb_ms: ["First byte", "text"],
  dns_ms: ["DNS", "phase-dns"],
  connect_ms: ["Connect (TCP)", "phase-connect"],
  tls_ms: ["TLS", "phase-tls"],
  wait_ms: ["Waiting", "phase-wait"],
  download_ms: ["Download", "phase-download"],
  total_ms: ["Total", "muted"],
  fcp_ms: ["First paint", "mark-fcp"],
  lcp_ms: ["Largest paint", "mark-lcp"],
  load_ms: ["Load", "mark-load"],
  fully_loaded_ms: ["Fully loaded", "muted"],
  start_render_ms: ["Start render", "phase-download"],
  speed_index: ["Speed Index", "phase-wait"],
  tbt_ms: ["Blocking time", "phase-connect"],
};

export function chartConfig(series: PhaseSeries, theme: Theme): ChartConfiguration<"line", Point[]> {
  const [only, ...others] = series.regions;
  const lines = only && others.length === 0 && series.metrics.length > 1 ? phaseLines(only, series.metrics, theme) : regionLines(series, theme);
  return {
    type: "line",
    data: { datasets: [...lines, ...faultMarks(series, theme)] },
    options: {
      animation: false,
      parsing: false,
      normalized: true,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      font: { family: theme.font, size: 12 },
      color: theme.text,
      scales: { x: timeScale(series, theme), y: durationScale(theme) },
      plugins: { legend: legend(theme), tooltip: tooltip(series) },
    },
  };
}

/** One region: a line for each of the metrics, the first byte dashed since it is the sum of others. */
function phaseLines(region: RegionSeries, metrics: readonly Metric[], theme: Theme): Line[] {
  return metrics.map((metric) => {
    const [name, color] = NAMES[metric];
    return { ...line(name, region.points, metric, theme.color(color)), borderDash: metric === "ttfb_ms" ? [5, 3] : [] };
  });
}

/** Several regions: one metric of each. */
function regionLines(series: PhaseSeries, theme: Theme): Line[] {
  const metric = series.metrics[0] ?? "ttfb_ms";
  return series.regions.map((region, index) => line(region.name, region.points, metric, theme.color(SERIES[index % SERIES.length] ?? "")));
}

function line(label: string, points: readonly SeriesPoint[], metric: Metric, color: string): Line {
  return {
    label,
    data: points.map((point) => ({ x: point.at_ms, y: point[metric] ?? NaN })),
    borderColor: color,
    backgroundColor: color,
    borderWidth: 2,
    pointRadius: points.length > 60 ? 0 : 2,
    pointHoverRadius: 4,
    spanGaps: false,
  };
}

/** Stretches with runs that failed or did not take place: shapes on the ground line, never a gap without a word. */
function faultMarks(series: PhaseSeries, theme: Theme): Line[] {
  const points = series.regions.flatMap((region) => region.points);
  const marks: Line[] = [
    { ...marksAt(points, "failed", theme.bad), label: "Failed", pointStyle: "crossRot" },
    { ...marksAt(points, "missed", theme.muted), label: "Missed", pointStyle: "rect", backgroundColor: "transparent" },
  ];
  return marks.filter((mark) => mark.data.length > 0);
}

function marksAt(points: readonly SeriesPoint[], kind: "failed" | "missed", color: string): Line {
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

function durationScale(theme: Theme) {
  return {
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
    callbacks: {
      title: (items: readonly TooltipItem<"line">[]) => day.format(items[0]?.parsed.x ?? series.since_ms),
      label: (item: TooltipItem<"line">) =>
        item.dataset.showLine === false
          ? faultWords(series, item.parsed.x ?? 0, item.dataset.label ?? "")
          : `${item.dataset.label ?? ""}: ${milliseconds(item.parsed.y)}`,
    },
  };
}

export function faultWords(series: PhaseSeries, at: number, label: string): string {
  const kind = label === "Failed" ? "failed" : "missed";
  const count = series.regions.flatMap((region) => region.points).reduce((sum, point) => sum + (point.at_ms === at ? point[kind] : 0), 0);
  return `${count} ${kind}`;
}
