import assert from "node:assert/strict";
import { test } from "node:test";
import type { Row } from "../src/contract";
import { escape, rowHtml } from "../src/waterfall/render";
import golden from "./golden/rows.json";

test("script and server draw the same rows", () => {
  for (const { row, selected, html } of golden) assert.equal(rowHtml(row as Row, `?q=a&request=${row.number}`, selected), html);
});

test("what a page wrote is never markup", () => {
  assert.equal(escape(`<a href="x" id='y'>&`), "&lt;a href=&quot;x&quot; id=&#x27;y&#x27;&gt;&amp;");
});
