import assert from "node:assert/strict";
import { test } from "node:test";
import { isShortcut } from "../src/keys";

class FakeElement {
  constructor(private readonly takesText: boolean) {}
  closest(): FakeElement | null {
    return this.takesText ? this : null;
  }
}
Object.assign(globalThis, { Element: FakeElement });

function press(key: string, target: unknown, modifiers = {}): Parameters<typeof isShortcut>[0] {
  return { key, target: target as EventTarget, ctrlKey: false, metaKey: false, altKey: false, ...modifiers };
}

test("a key alone is a shortcut", () => {
  assert.equal(isShortcut(press("j", new FakeElement(false))), true);
});

test("with Ctrl, Alt or Meta it belongs to the browser", () => {
  for (const name of ["ctrlKey", "altKey", "metaKey"]) assert.equal(isShortcut(press("j", null, { [name]: true })), false);
});

test("in a field it is text, but Escape leaves the field", () => {
  assert.equal(isShortcut(press("j", new FakeElement(true))), false);
  assert.equal(isShortcut(press("Escape", new FakeElement(true))), true);
});
