import assert from "node:assert/strict";
import { test } from "node:test";
import { chartConfig, deployWords, faultWords } from "../src/charts/series";
import type { Theme } from "../src/charts/theme";
import { timeText, timeTicks } from "../src/charts/time";
import type { PhaseSeries, SeriesPoint } from "../src/contract";

const HOUR = 3_600_000;
const THEME: Theme = { text: "t", muted: "m", line: "l", bad: "b", font: "f", color: (name) => `c-${name}` };

// First byte, DNS, waiting.
function point(at_ms: number, fields: Partial<SeriesPoint> = {}): SeriesPoint {
  return { at_ms, failed: 0, missed: 0, disturbed: 0, values: [100, 8, 60], ...fields };
}

const NAMES = ["First byte", "DNS", "Waiting"];

function series(regions: PhaseSeries["regions"], metrics: PhaseSeries["metrics"] = ["ttfb_ms"]): PhaseSeries {
  return { since_ms: 0, until_ms: 24 * HOUR, zone: "UTC", metrics, names: NAMES.slice(0, metrics.length), regions, deploys: [] };
}

const EU = { region: "eu", name: "Frankfurt", points: [point(0), point(HOUR, { values: [null], failed: 2 }), point(2 * HOUR, { missed: 1 })] };
const US = { region: "us", name: "Virginia", points: [point(HOUR, { failed: 1 })] };

test("several regions are one line each", () => {
  const labels = chartConfig(series([EU, US]), THEME).data.datasets.map((set) => set.label);
  assert.deepEqual(labels, ["Frankfurt", "Virginia", "Failed", "Missed"]);
});

test("one region is a line for each phase in the colour of the phase", () => {
  const { datasets } = chartConfig(series([EU], ["ttfb_ms", "dns_ms", "wait_ms"]), THEME).data;
  assert.deepEqual(datasets.slice(0, 3).map((set) => [set.label, set.borderColor]), [["First byte", "c-text"], ["DNS", "c-phase-dns"], ["Waiting", "c-phase-wait"]]);
  assert.deepEqual(datasets.slice(0, 3).map((set) => set.data[0]?.y), [100, 8, 60]);
});

test("a dot under another's of the same value is a ring around it", () => {
  const places = ["Frankfurt", "Virginia", "Tokyo"].map((name, k) => ({ region: name, name, points: [point(0), point(HOUR, { values: [100 + 40 * k] }), point(2 * HOUR, { values: [null] })] }));
  const radii = chartConfig(series(places), THEME).data.datasets.map((set) => set.pointRadius);
  assert.deepEqual(radii, [[2, 2, 2], [4, 2, 2], [6, 2, 2]]);
});

test("among many runs a measured one without neighbours is a dot, since no line leads to it", () => {
  const many = Array.from({ length: 80 }, (_, k) => point(k * 60_000, k === 10 || k === 12 ? { values: [null], missed: 1 } : {}));
  const [line] = chartConfig(series([{ ...EU, points: many }]), THEME).data.datasets;
  assert.deepEqual((line?.pointRadius as number[]).flatMap((radius, k) => (radius > 0 ? [k] : [])), [11]);
});

test("lines are told apart by the shapes of their points, of many at points of their own", () => {
  const many = (value: number) => Array.from({ length: 168 }, (_, k) => point(k * HOUR, { values: [value] }));
  const { datasets } = chartConfig(series([{ ...EU, points: many(100) }, { ...US, points: many(300) }]), THEME).data;
  assert.deepEqual(datasets.map((set) => set.pointStyle), ["circle", "triangle"]);
  const [first, second] = datasets.map((set) => (set.pointRadius as number[]).flatMap((radius, k) => (radius > 0 ? [k] : [])));
  assert.equal(first?.length, 10);
  assert.equal(second?.some((k) => first?.includes(k)), false);
});

test("stretches whose every run was disturbed stand on the ground line", () => {
  const busy = series([{ ...EU, points: [point(0), point(HOUR, { disturbed: 2 })] }, US]);
  const marks = chartConfig(busy, THEME).data.datasets.filter((set) => set.label === "Disturbed");
  assert.deepEqual(marks.map((set) => set.data), [[{ x: HOUR, y: 0 }]]);
  assert.equal(faultWords(busy, HOUR, "Disturbed"), "Frankfurt: 2 disturbed");
});

test("what was not measured is a gap, never zero", () => {
  const [line] = chartConfig(series([EU, US]), THEME).data.datasets;
  assert.deepEqual(line?.data.map((p) => p.y), [100, NaN, 100]);
  assert.equal(line?.spanGaps, false);
});

test("a pause in which nothing was to be measured is a gap, and a longer interval is none", () => {
  const minutes = [0, 1, 2, 30, 31, 32, 47, 62, 77];
  const [line] = chartConfig(series([{ ...EU, points: minutes.map((minute) => point(minute * 60_000)) }]), THEME).data.datasets;
  const known = line?.data.map((p) => (Number.isNaN(p.y) ? "gap" : (p.x ?? NaN) / 60_000));
  assert.deepEqual(known, [0, 1, 2, "gap", 30, 31, 32, 47, 62, 77]);
});

test("failed and missed runs stand on the ground line with their number", () => {
  const config = chartConfig(series([EU, US]), THEME);
  const failed = config.data.datasets.find((set) => set.label === "Failed");
  assert.deepEqual(failed?.data, [{ x: HOUR, y: 0 }]);
  assert.equal(faultWords(series([EU, US]), HOUR, "Failed"), "Frankfurt: 2 failed, Virginia: 1");
  assert.equal(faultWords(series([EU, US]), 2 * HOUR, "Missed"), "Frankfurt: 1 missed");
  assert.equal(faultWords(series([EU]), HOUR, "Failed"), "2 failed");
});

test("each deploy is an upright line from top to bottom with its mark at the top, and is told by its name", () => {
  const released = { ...series([EU]), deploys: [{ at_ms: HOUR, name: "9f3c2e1" }, { at_ms: 3 * HOUR, name: "42" }] };
  const config = chartConfig(released, THEME);
  const marks = config.data.datasets.find((set) => set.label === "Deploy");
  assert.deepEqual(marks?.data.map(({ x, y }) => [(x ?? NaN) / HOUR, y]), [[1, 1], [1, 0], [1, NaN], [3, 1], [3, 0], [3, NaN]]);
  assert.deepEqual(marks?.pointRadius, [5, 0, 0, 5, 0, 0]);
  assert.equal(deployWords(released, 3 * HOUR), "Deploy 42");
});

test("without deploys there is no mark of one", () => {
  assert.ok(chartConfig(series([EU]), THEME).data.datasets.every((set) => set.label !== "Deploy"));
});

test("where nothing was measured there is no scale of durations", () => {
  const shown = (ttfb_ms: number | null) => chartConfig(series([{ ...EU, points: [point(0, { values: [ttfb_ms], failed: 1 })] }]), THEME).options?.scales?.["y"]?.display;
  assert.deepEqual([shown(null), shown(0), shown(80)], [false, true, true]);
});

test("without faults there are no marks", () => {
  assert.equal(chartConfig(series([{ ...US, points: [point(0)] }, EU]), THEME).data.datasets.length, 4);
  assert.equal(chartConfig(series([{ ...US, points: [point(0)] }]), THEME).data.datasets.length, 1);
});

test("the axis is the whole period, also where nothing was measured", () => {
  const x = chartConfig(series([]), THEME).options?.scales?.["x"];
  assert.deepEqual([x?.min, x?.max], [0, 24 * HOUR]);
});

test("time ticks are few, round and within the period", () => {
  for (const hours of [1, 3, 24, 24 * 7, 24 * 30, 24 * 400]) {
    const [since, until] = [1_700_000_123_456, 1_700_000_123_456 + hours * HOUR];
    const ticks = timeTicks(since, until, "Europe/Berlin");
    assert.ok(ticks.length >= 3 && ticks.length <= 9, `${hours} h: ${ticks.length}`);
    assert.ok(ticks.every((at) => at >= since && at <= until && at % 60_000 === 0));
  }
});

test("days on which clocks are set have their ticks where days and hours begin", () => {
  const told = (zone: string, since: number, hours: number): string[] => {
    const style: Intl.DateTimeFormatOptions = hours > 48 ? { day: "numeric", month: "short" } : { timeStyle: "short", hourCycle: "h23" };
    const format = new Intl.DateTimeFormat("en-US", { ...style, timeZone: zone });
    return timeTicks(since, since + hours * HOUR, zone).map((at) => format.format(at));
  };
  const october = ["Oct 24", "Oct 25", "Oct 26", "Oct 27", "Oct 28", "Oct 29", "Oct 30"];
  assert.deepEqual(told("Europe/Berlin", Date.UTC(2026, 9, 22, 23), 7 * 24), october);
  const november = ["Oct 30", "Oct 31", "Nov 1", "Nov 2", "Nov 3", "Nov 4", "Nov 5"];
  assert.deepEqual(told("America/St_Johns", Date.UTC(2026, 9, 29, 12), 7 * 24), november);
  const night = ["21:00", "00:00", "03:00", "06:00", "09:00", "12:00", "15:00"];
  assert.deepEqual(told("America/St_Johns", Date.UTC(2026, 9, 31, 23), 20), night);
  assert.deepEqual(told("America/St_Johns", Date.UTC(2026, 2, 7, 23), 20), night);
  for (const [zone, at] of [["Asia/Beirut", Date.UTC(2026, 2, 28, 22)], ["America/Havana", Date.UTC(2026, 2, 8, 5)]] as const) {
    const days = timeTicks(at - 60 * HOUR, at + 80 * HOUR, zone);
    assert.ok(days.includes(at), `${zone}: a day without midnight begins with its first hour`);
  }
});

test("the hour that comes twice has ticks both times", () => {
  const change = Date.UTC(2026, 9, 25, 1);
  for (const since of [change - 50 * 60_000, change - 10 * 60_000, change + 10 * 60_000]) {
    assert.equal(timeTicks(since, since + 33 * 60_000, "Europe/Berlin").length, 7);
  }
});

test("the axis tells the hours of the reader's own zone, as the rest of the page does", () => {
  const since = Date.UTC(2026, 10, 20, 15, 10);
  const told = (zone: string) => timeTicks(since, since + 24 * HOUR, zone).map(timeText(24 * HOUR, zone));
  assert.deepEqual(told("UTC"), ["18:00", "21:00", "00:00", "03:00", "06:00", "09:00", "12:00", "15:00"]);
  assert.deepEqual(told("Asia/Kolkata"), ["21:00", "00:00", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00"]);
});
