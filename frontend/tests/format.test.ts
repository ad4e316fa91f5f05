import assert from "node:assert/strict";
import { test } from "node:test";
import { count, duration, milliseconds, shortDuration, size } from "../src/format";
import golden from "./golden/text.json";

type Pairs = readonly (readonly (number | string | null)[])[];

const functions = { duration, size, count, short_duration: (us: number | null) => shortDuration(us ?? 0) };

for (const [name, pairs] of Object.entries(golden) as [keyof typeof functions, Pairs][]) {
  test(`${name} reads as the golden table says`, () => {
    for (const [value, text] of pairs) assert.equal(functions[name](value as number | null), text, `${name} of ${value}`);
  });
}

test("milliseconds are said in the words of microseconds", () => {
  assert.equal(milliseconds(212.4), "212 ms");
  assert.equal(milliseconds(1844.9), "1.84 s");
  assert.equal(milliseconds(null), "–");
});
