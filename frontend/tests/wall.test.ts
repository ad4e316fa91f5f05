import assert from "node:assert/strict";
import { test } from "node:test";
import { isLost, LOST_AFTER_MS } from "../src/wall";

test("a wall is old only when several answers in a row did not come", () => {
  assert.equal(isLost(1_000, 1_000 + LOST_AFTER_MS), false);
  assert.equal(isLost(1_000, 1_001 + LOST_AFTER_MS), true);
});
