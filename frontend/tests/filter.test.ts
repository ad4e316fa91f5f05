import assert from "node:assert/strict";
import { test } from "node:test";
import { type Filterable, neighbour, urlWith, wants } from "../src/waterfall/filter";

const ROW: Filterable = { number: 7, url: "https://cdn.example/App.css", host: "cdn.example", status: "404", kind: "stylesheet", note: "blocks rendering" };
const ALL = { text: "", host: "", kind: "" };

test("an empty filter wants everything", () => {
  assert.equal(wants(ALL, ROW), true);
});

test("the text is found in address, status, type and note, without case", () => {
  for (const text of ["app.CSS", "404", "stylesheet", "Blocks", " cdn.example "]) assert.equal(wants({ ...ALL, text }, ROW), true, text);
  assert.equal(wants({ ...ALL, text: "app.js" }, ROW), false);
});

test("host and type must be the very ones", () => {
  assert.equal(wants({ ...ALL, host: "cdn.example", kind: "stylesheet" }, ROW), true);
  assert.equal(wants({ ...ALL, host: "example" }, ROW), false);
  assert.equal(wants({ ...ALL, kind: "style" }, ROW), false);
});

test("the address holds filter and selection, and leaves other parts alone", () => {
  const href = "https://x.example/runs/1/?view=connections&from=301&host=old#details";
  const url = urlWith(href, { text: "a b", host: "", kind: "h2" }, 3);
  assert.equal(url, "https://x.example/runs/1/?view=connections&q=a+b&kind=h2&request=3");
  assert.equal(urlWith(url, ALL, null), "https://x.example/runs/1/?view=connections");
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
