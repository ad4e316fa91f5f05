import assert from "node:assert/strict";
import { test } from "node:test";
import { type Filterable, neighbour, sorted, urlWith, type Wanted, wants } from "../src/waterfall/filter";

const ROW: Filterable = {
  number: 7,
  name: "App.css?画像",
  url: "https://cdn.example/App.css",
  host: "cdn.example",
  status: "404",
  kind: "stylesheet",
  notes: ["blocks rendering"],
  traits: ["failed", "blocking"],
  start_us: 5,
  total_us: 10,
  size_bytes: 900,
};
const ALL: Wanted = { text: "", host: "", kind: "", only: "", sort: "" };

test("an empty filter wants everything", () => {
  assert.equal(wants(ALL, ROW), true);
});

test("the text is found in name, address, status, type and notes, without case", () => {
  for (const text of ["app.CSS", "404", "stylesheet", "Blocks", " cdn.example ", "画像"]) assert.equal(wants({ ...ALL, text }, ROW), true, text);
  assert.equal(wants({ ...ALL, text: "app.js" }, ROW), false);
});

test("host and type must be the very ones", () => {
  assert.equal(wants({ ...ALL, host: "cdn.example", kind: "stylesheet" }, ROW), true);
  assert.equal(wants({ ...ALL, host: "example" }, ROW), false);
  assert.equal(wants({ ...ALL, kind: "style" }, ROW), false);
});

test("only what fails, blocks or is of others can be asked for", () => {
  assert.equal(wants({ ...ALL, only: "blocking" }, ROW), true);
  assert.equal(wants({ ...ALL, only: "third-party" }, ROW), false);
});

test("rows are sorted by a column in both directions, those without a value last", () => {
  const rows = [ROW, { ...ROW, number: 8, size_bytes: null }, { ...ROW, number: 9, size_bytes: 2_000 }];
  const numbers = (sort: string): number[] => sorted(rows, sort).map((row) => row.number);
  assert.deepEqual(numbers(""), [7, 8, 9]);
  assert.deepEqual(numbers("size"), [7, 9, 8]);
  assert.deepEqual(numbers("-size"), [9, 7, 8]);
  assert.deepEqual(numbers("-host"), [7, 8, 9]);
  assert.deepEqual(numbers("nonsense"), [7, 8, 9]);
});

test("what was left open is sorted by how long it was", () => {
  const rows = [ROW, { ...ROW, number: 8, total_us: null }, { ...ROW, number: 9, total_us: null, open_us: 5_620_000 }];
  assert.deepEqual(sorted(rows, "-time").map((row) => row.number), [9, 7, 8]);
});

test("the address holds what is asked for, and leaves other parts alone", () => {
  const href = "https://x.example/runs/1/?view=connections&from=301&host=old#details";
  const url = urlWith(href, { q: "a b", host: "", kind: "h2", zoom: "10-20.5", request: "3" });
  assert.equal(url, "https://x.example/runs/1/?view=connections&q=a+b&kind=h2&zoom=10-20.5&request=3");
  assert.equal(urlWith(url, { q: "", kind: "", zoom: "", request: "" }), "https://x.example/runs/1/?view=connections");
  assert.equal(urlWith(href, { view: "", host: "", request: "5" }, "#details"), "https://x.example/runs/1/?request=5#details");
});

test("the next row is the next of those shown", () => {
  assert.equal(neighbour([3, 5, 9], 5, 1), 9);
  assert.equal(neighbour([3, 5, 9], 5, -1), 3);
});

test("at the ends the selection stays", () => {
  assert.equal(neighbour([3, 5, 9], 9, 1), 9);
  assert.equal(neighbour([3, 5, 9], 3, -1), 3);
});

test("without a selection, or when it is filtered away, the first row is next", () => {
  assert.equal(neighbour([3, 5, 9], null, 1), 3);
  assert.equal(neighbour([3, 5, 9], 4, -1), 3);
  assert.equal(neighbour([], 4, 1), null);
});
