import assert from "node:assert/strict";
import { test } from "node:test";
import { Announcer, clockOf, pauseMs, silence } from "../src/live/progress";

test("a person looks closely at first, then less", () => {
  assert.deepEqual([0, 29_999, 30_000, 179_999, 180_000, 3_600_000].map(pauseMs), [1000, 1000, 2000, 2000, 10_000, 10_000]);
});

test("at most one announcement in five seconds, and the newest is not lost", () => {
  const announcer = new Announcer(5_000);
  assert.equal(announcer.next("0 of 4", 0), "0 of 4");
  assert.equal(announcer.next("1 of 4", 1_000), null);
  assert.equal(announcer.next("2 of 4", 4_999), null);
  assert.equal(announcer.next("2 of 4", 5_000), "2 of 4");
  assert.equal(announcer.next("2 of 4", 20_000), null);
});

test("silence is named after a minute", () => {
  const clock = (at: number): string => `at ${at}`;
  assert.equal(silence(0, 59_999, clock), "");
  assert.equal(silence(0, 61_500, clock), "Nothing new for 61 s (last news at 0).");
  assert.equal(silence(0, 341_000, clock), "Nothing new for 5 min (last news at 0).");
});

test("the last news is told in the zone of the reader's account, wherever the browser is", () => {
  const at = Date.UTC(2026, 10, 22, 20, 5);
  assert.equal(clockOf("Asia/Kolkata")(at), "01:35");
  assert.equal(clockOf("America/St_Johns")(at), "16:35");
});
