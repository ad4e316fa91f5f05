import assert from "node:assert/strict";
import { test } from "node:test";

import { dropped, fault, told } from "../src/upload";

test("a file that is too large is told with its size before it is sent", () => {
  assert.equal(fault(5, 5), "");
  assert.equal(
    fault(30 * 1_048_576, 24 * 1_048_576),
    "The file has 30 MiB, and at most 24 are taken. Pack it with gzip.",
  );
});

test("a file that is a little too large does not read as one that is taken", () => {
  assert.match(fault(24 * 1_048_576 + 1, 24 * 1_048_576), /^The file has 24.1 MiB, and at most 24 are taken/);
});

test("how far it is has words", () => {
  assert.equal(told(0, 100), "Sent 0 %");
  assert.equal(told(99, 100), "Sent 99 %");
  assert.equal(told(100, 100), "Reading the file …");
});

test("one dropped file is chosen, several are not", () => {
  assert.equal(dropped(["shop.har"]), "shop.har is chosen.");
  assert.equal(dropped(["a.har", "b.har"]), "These are 2 files. Drop one at a time.");
  assert.equal(dropped([]), "That is no file.");
});
