// Draws the chart of phases over time from the data block beside it, in the colours of the theme.

import { Chart, Legend, LinearScale, LineController, LineElement, PointElement, Tooltip } from "chart.js";
import type { PhaseSeries } from "../contract";
import { readData } from "../mount";
import { chartConfig } from "./series";
import { themeOf } from "./theme";

Chart.register(Legend, LinearScale, LineController, LineElement, PointElement, Tooltip);

export function mountPhaseChart(root: HTMLElement): void {
  const canvas = root.querySelector("canvas");
  const series = readData<PhaseSeries>(root.dataset["series"] ?? "phase-series");
  if (!canvas || !series) return;
  let chart = new Chart(canvas, chartConfig(series, themeOf(root)));
  const redraw = (): void => {
    chart.destroy();
    chart = new Chart(canvas, chartConfig(series, themeOf(root)));
  };
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) matchMedia(query).addEventListener("change", redraw);
}
