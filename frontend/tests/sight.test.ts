import assert from "node:assert/strict";
import { test } from "node:test";
import { offsetsOf, SPARE_ROWS, sightOf, widened } from "../src/waterfall/sight";

const OFFSETS = offsetsOf(Array.from({ length: 2_000 }, () => 27));

test("at the top the first rows are in sight", () => {
  assert.deepEqual(sightOf(OFFSETS, -100, 800), { from: 0, to: Math.ceil(800 / 27) });
});

test("in the middle the rows between two heights are", () => {
  assert.deepEqual(sightOf(OFFSETS, 2_700, 3_600), { from: 100, to: 134 });
});

test("spare rows lie on both sides, within the table", () => {
  assert.deepEqual(widened({ from: 100, to: 134 }, 2_000), { from: 100 - SPARE_ROWS, to: 134 + SPARE_ROWS });
  assert.deepEqual(widened({ from: 5, to: 1_995 }, 2_000), { from: 0, to: 2_000 });
  assert.deepEqual(widened({ from: 0, to: 0 }, 0), { from: 0, to: 0 });
});

test("above or below the table nothing goes wrong", () => {
  assert.deepEqual(sightOf(OFFSETS, -5_000, -4_100), { from: 0, to: 0 });
  assert.deepEqual(sightOf(OFFSETS, 60_000, 60_900), { from: 2_000, to: 2_000 });
  assert.deepEqual(sightOf(offsetsOf([]), 0, 900), { from: 0, to: 0 });
});

test("rows may be of any height", () => {
  const offsets = offsetsOf([10, 100, 10, 40]);
  assert.deepEqual([...offsets], [0, 10, 110, 120, 160]);
  assert.deepEqual(sightOf(offsets, 50, 115), { from: 1, to: 3 });
});
