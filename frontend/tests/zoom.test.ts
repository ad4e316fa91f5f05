import assert from "node:assert/strict";
import { test } from "node:test";
import { boxOf, partOf, scaled, zoomOf, zoomText } from "../src/waterfall/zoom";

const FULL = { start_us: -50_000, end_us: 950_000, zero_us: 0 };

test("a stretch is chosen in either direction and stays on the axis", () => {
  assert.deepEqual(partOf(FULL, 300_000, 200_000), { start_us: 200_000, end_us: 300_000, zero_us: 0 });
  assert.deepEqual(partOf(FULL, -900_000, 100_000), { start_us: -50_000, end_us: 100_000, zero_us: 0 });
});

test("what is too short to be looked at is all of it", () => {
  assert.equal(partOf(FULL, 200_000, 200_010), FULL);
});

test("nearer and farther keep the instant in its place", () => {
  const near = scaled(FULL, FULL, 0.5, 200_000);
  assert.deepEqual(near, { start_us: 75_000, end_us: 575_000, zero_us: 0 });
  assert.equal(scaled(FULL, near, 2, 200_000), FULL);
  assert.equal(scaled(FULL, FULL, 2, 0), FULL);
});

test("at an end of the axis the view is moved, not cut", () => {
  const near = scaled(FULL, FULL, 0.5, 900_000);
  const out = scaled(FULL, { ...near, start_us: 750_000, end_us: 950_000 }, 2, 750_000);
  assert.deepEqual([out.start_us, out.end_us], [550_000, 950_000]);
});

test("the address holds a stretch in milliseconds and gives it back", () => {
  const view = partOf(FULL, -20_000, 12_500);
  assert.equal(zoomText(FULL, view), "-20-12.5");
  assert.deepEqual(zoomOf(FULL, "-20-12.5"), view);
  assert.equal(zoomText(FULL, FULL), "");
});

test("an address may hold anything", () => {
  for (const text of ["", "x", "5", "9-3", "--", "1-", "1e9-2e9", "5000-9000", "1.2.3-4"]) assert.equal(zoomOf(FULL, text), FULL, text);
});

test("a part is told in percent of the whole axis", () => {
  assert.equal(boxOf(FULL, FULL), "0 100");
  assert.equal(boxOf(FULL, partOf(FULL, 150_000, 275_000)), "20 12.5");
});

test("two waterfalls with different zeros show the same time after them", () => {
  const other = { start_us: 0, end_us: 1_000_000, zero_us: 100_000 };
  assert.deepEqual(zoomOf(other, "0-50"), { start_us: 100_000, end_us: 150_000, zero_us: 100_000 });
});
