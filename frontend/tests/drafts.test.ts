import assert from "node:assert/strict";
import { test } from "node:test";

import { type Draft, fate, masked } from "../src/drafts";

const DRAFT: Draft = { page: "/sites/add/", person: "Ada", action: "/sites/add/", fields: [], unsent: true };
const HERE = { page: "/sites/add/", person: "Ada", refuses: false };

test("what was sent without being taken is filled in on its own page, for the same person", () => {
  assert.equal(fate(DRAFT, { page: "/account/login/", person: "", refuses: true }), "keep");
  assert.equal(fate(DRAFT, HERE), "fill");
  assert.equal(fate(DRAFT, { ...HERE, page: "/sites/" }), "keep");
  assert.equal(fate(DRAFT, { ...HERE, person: "Bob" }), "forget");
});

test("what was taken is forgotten, also where its page comes back with faults", () => {
  assert.equal(fate({ ...DRAFT, unsent: false }, HERE), "forget");
  assert.equal(fate({ ...DRAFT, unsent: false }, { ...HERE, page: "/sites/" }), "forget");
});

test("a script is remembered without its secrets", () => {
  assert.equal(
    masked("type me into #user\n  secret turn left into town into #password\nclick #in"),
    "type me into #user\n  secret •••••••• into #password\nclick #in",
  );
  assert.equal(masked("https://shop.example/secret into"), "https://shop.example/secret into");
});
