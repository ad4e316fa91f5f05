import assert from "node:assert/strict";
import { test } from "node:test";
import { offsetsOf, SPARE_AT_ONCE, SPARE_ROWS, sightOf, towards, widened } from "../src/waterfall/sight";

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

test("what is seen is drawn at once, and the spare rows a few in a frame until all are there", () => {
  const seen = { from: 100, to: 134 };
  let drawn = towards({ from: 0, to: 0 }, seen, 2_000);
  assert.deepEqual(drawn, seen);
  const steps = SPARE_ROWS / SPARE_AT_ONCE;
  for (let step = 1; step <= steps; step++) {
    drawn = towards(drawn, seen, 2_000);
    assert.deepEqual(drawn, { from: 100 - step * SPARE_AT_ONCE, to: 134 + step * SPARE_AT_ONCE });
  }
  assert.deepEqual(drawn, widened(seen, 2_000));
  assert.deepEqual(towards(drawn, seen, 2_000), drawn);
});

test("a scroll makes the rows that come near and drops those that are far, whatever its speed", () => {
  const drawn = { from: 80, to: 138 };
  assert.deepEqual(towards(drawn, { from: 101, to: 135 }, 2_000), { from: 89, to: 144 });
  assert.deepEqual(towards(drawn, { from: 122, to: 156 }, 2_000), { from: 110, to: 156 });
  assert.deepEqual(towards(drawn, { from: 83, to: 117 }, 2_000), { from: 74, to: 129 });
  assert.deepEqual(towards(drawn, { from: 900, to: 934 }, 2_000), { from: 900, to: 934 });
});

test("rows just out of sight are made too, so that they are there when the table comes into the window", () => {
  const below = sightOf(OFFSETS, -1_000, -100);
  assert.deepEqual(towards({ from: 0, to: 0 }, below, 2_000), { from: 0, to: SPARE_AT_ONCE });
  assert.deepEqual(towards({ from: 0, to: 0 }, { from: 0, to: 0 }, 0), { from: 0, to: 0 });
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
