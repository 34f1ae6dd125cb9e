import { expect, test } from "vitest";
import { FrameScheduler } from "./frame-scheduler.ts";

/** Frames that come when the test says so. */
function page() {
  const asked: ((isSeen: boolean) => void)[] = [];
  const done: string[] = [];
  const turns = new FrameScheduler((run) => asked.push(run));
  return {
    done,
    take: (name: string, then = () => {}) =>
      turns.take(name, () => {
        done.push(name);
        then();
      }),
    frame: (isSeen = true) => asked.shift()?.(isSeen),
    asked: () => asked.length,
  };
}

test("a frame does one piece of work, in the order in which turns were taken", () => {
  const { take, frame, done, asked } = page();
  for (const name of ["rows", "fleet", "rows"]) take(name);
  expect([done, asked()]).toEqual([[], 1]);
  frame();
  expect([done, asked()]).toEqual([["rows"], 1]);
  frame();
  expect([done, asked()]).toEqual([["rows", "fleet"], 0]);
});

test("what is taken while its own work is done gets the next frame", () => {
  const { take, frame, done, asked } = page();
  take("rows", () => {
    if (done.length < 2) take("rows");
  });
  frame();
  expect([done, asked()]).toEqual([["rows"], 1]);
  frame();
  expect([done, asked()]).toEqual([["rows", "rows"], 0]);
});

test("a page that is not seen waits for no frame: all is done at once", () => {
  const { take, frame, done, asked } = page();
  for (const name of ["rows", "fleet"]) take(name);
  frame(false);
  expect([done, asked()]).toEqual([["rows", "fleet"], 0]);
});
