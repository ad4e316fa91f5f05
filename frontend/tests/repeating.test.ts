import assert from "node:assert/strict";
import { test } from "node:test";
import { whileSeen } from "../src/repeating";

const PAUSE_MS = 20;

class Page {
  hidden = false;
  private heard = (): void => undefined;

  addEventListener(_: string, listener: () => void): void {
    this.heard = listener;
  }

  turn(hidden: boolean): void {
    this.hidden = hidden;
    this.heard();
  }
}

/** Begins to act on a page; what each act waits for, in their order. */
function started(page: Page): ((goOn: boolean) => void)[] {
  const acts: ((goOn: boolean) => void)[] = [];
  whileSeen(() => new Promise((resolve) => acts.push(resolve)), () => PAUSE_MS, page as unknown as Document);
  return acts;
}

function pauses(count: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, count * PAUSE_MS + PAUSE_MS / 2));
}

test("it acts after each pause, as long as there is more to do", async () => {
  const acts = started(new Page());
  assert.equal(acts.length, 0);
  await pauses(1);
  acts[0]?.(true);
  await pauses(1);
  acts[1]?.(false);
  await pauses(3);
  assert.equal(acts.length, 2);
});

test("nothing is done while nobody looks, and at once when somebody does", async () => {
  const page = new Page();
  const acts = started(page);
  page.turn(true);
  await pauses(3);
  assert.equal(acts.length, 0);
  page.turn(false);
  assert.equal(acts.length, 1);
});

test("who looks away and back while it acts does not have it act twice as often", async () => {
  const page = new Page();
  const acts = started(page);
  await pauses(1);
  page.turn(true);
  page.turn(false);
  assert.equal(acts.length, 2);
  for (const end of acts) end(true);
  await pauses(3);
  assert.equal(acts.length, 3);
});
