import assert from "node:assert/strict";
import { test } from "node:test";
import { SPARE_ROWS, sightOf } from "../src/waterfall/sight";

test("at the top the first rows are in sight", () => {
  assert.deepEqual(sightOf(100, 900, 27, 2000), { from: 0, to: Math.ceil(800 / 27) + SPARE_ROWS });
});

test("in the middle there are spare rows on both sides", () => {
  const sight = sightOf(-2700, 900, 27, 2000);
  assert.equal(sight.from, 100 - SPARE_ROWS);
  assert.equal(sight.to, Math.ceil(3600 / 27) + SPARE_ROWS);
});

test("at the end nothing is drawn beyond the last row", () => {
  assert.deepEqual(sightOf(-27 * 1990, 900, 27, 2000), { from: 1990 - SPARE_ROWS, to: 2000 });
});

test("above or below the table nothing goes wrong", () => {
  assert.deepEqual(sightOf(5000, 900, 27, 100), { from: 0, to: 0 });
  assert.deepEqual(sightOf(-50_000, 900, 27, 100), { from: 100, to: 100 });
  assert.deepEqual(sightOf(0, 900, 27, 0), { from: 0, to: 0 });
});

test("however many rows there are, few are drawn", () => {
  for (let top = 0; top > -54_000; top -= 997) {
    const { from, to } = sightOf(top, 900, 27, 2000);
    assert.ok(from <= to && to <= 2000 && to - from <= Math.ceil(900 / 27) + 2 * SPARE_ROWS + 1);
  }
});
