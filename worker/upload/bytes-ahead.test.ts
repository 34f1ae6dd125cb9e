import { expect, test } from "vitest";
import type { Capture } from "../capture/capture.ts";
import { bytesAhead } from "./bytes-ahead.ts";

const capture = (run: string, change: Partial<Capture>) =>
  ({ run, state: "waiting", sizeBytes: 100, capturedAt: 0, priority: 0, ...change }) as Capture;
const none = () => 0;

test("what waits behind another run waits for its bytes too", () => {
  const queue = [
    capture("a", { state: "running", capturedAt: 3 }),
    capture("b", { capturedAt: 1 }),
    capture("c", { capturedAt: 2 }),
    capture("b", { capturedAt: 4 }),
  ];
  const ahead = bytesAhead(queue, ({ run }) => (run === "a" ? 30 : 0));
  expect(Object.fromEntries(ahead)).toEqual({ a: 70, b: 370, c: 270 });
});

test("what was put first is first, and what a person has to let go holds up nobody", () => {
  const queue = [
    capture("paused", { state: "paused", capturedAt: 1 }),
    capture("plain", { capturedAt: 2 }),
    capture("first", { capturedAt: 3, priority: 10 }),
  ];
  expect(Object.fromEntries(bytesAhead(queue, none))).toEqual({ first: 100, plain: 200, paused: 300 });
});

test("what is safe, or will never be, is nothing to wait for", () => {
  expect(bytesAhead([capture("a", { state: "done" }), capture("b", { state: "superseded" })], none).size).toBe(0);
});
