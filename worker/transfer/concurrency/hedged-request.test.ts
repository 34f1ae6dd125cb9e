import { expect, test } from "vitest";
import { createSemaphore } from "./semaphore.ts";
import type { Followed } from "./hedge.ts";
import { TryTwice } from "./hedged-request.ts";

/** Two tries, whose ends are the test's business. */
function createTrial() {
  const tries: PromiseWithResolvers<string>[] = [];
  const ended: string[] = [];
  const late: string[] = [];
  const landed: boolean[] = [];
  let followed: Followed | null = null;
  let shown = 0;
  const hedges = {
    follow: (small: Followed) => {
      followed = small;
      return { moved: () => undefined, leave: (hasLanded: boolean) => void landed.push(hasLanded) };
    },
    run: () => Promise.reject(new Error("not used")),
    lengthBytes: () => null,
    shed: () => undefined,
  };
  const one = new TryTwice<string>(
    { semaphore: createSemaphore(4), hedges },
    {
      signal: new AbortController().signal,
      lengthBytes: 100,
      mayRepeat: () => true,
      mayShed: false,
      ask: (isHedge) => {
        const name = isHedge ? "second" : "first";
        one.begun(() => void ended.push(name));
        one.moved(40, isHedge);
        const asked = Promise.withResolvers<string>();
        tries.push(asked);
        return asked.promise;
      },
      onMoved: (bytes) => void (shown += bytes),
      onTooLate: (result) => void late.push(result),
    },
  );
  const result = one.run();
  const hedge = async () => {
    followed?.hedge();
    await expect.poll(() => tries.length).toBe(2);
  };
  return { one, result, tries, hedge, ended, late, landed, shown: () => shown };
}

test("the one that gets there first counts, the other is ended, and all bytes are shown once", async () => {
  const { one, result, tries, hedge, ended, late, landed, shown } = createTrial();
  await hedge();
  tries[1]?.resolve("by the second");
  await expect(result).resolves.toBe("by the second");
  expect([ended, shown(), one.wasOne]).toEqual([["first", "second"], 100, false]);
  tries[0]?.resolve("by the first");
  await expect.poll(() => late).toEqual(["by the first"]);
  expect([landed, shown()]).toEqual([[true], 100]);
});

test("one that fails waits for the other, and the fault of the first is told when both do", async () => {
  const { one, result, tries, hedge, landed, shown } = createTrial();
  await hedge();
  tries[0]?.reject(new Error("of the first"));
  tries[1]?.reject(new Error("of the second"));
  await expect(result).rejects.toThrow("of the first");
  one.takeBack();
  expect([landed, shown()]).toEqual([[false], 0]);
});

test("there was but one when nobody asked for another", async () => {
  const { one, result, tries } = createTrial();
  tries[0]?.resolve("there");
  await expect(result).resolves.toBe("there");
  expect(one.wasOne).toBe(true);
});
