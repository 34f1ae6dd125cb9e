import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { lendMemory } from "./buffer-pool.ts";

test("there are never more than so many, and what came back is lent again", async () => {
  const { lend, takeBack } = lendMemory({ count: 2, sizeBytes: 10, signal: new AbortController().signal });
  const [first, second] = [await lend(), await lend()];
  expect(first).not.toBe(second);
  expect(first).toHaveLength(10);
  let third: Buffer | null = null;
  const waiting = lend().then((buffer) => (third = buffer));
  await Promise.resolve();
  expect(third).toBeNull();
  takeBack(second);
  expect(await waiting).toBe(second);
  takeBack(first);
  expect(await lend()).toBe(first);
});

test("who waits is told when nothing more will come", async () => {
  const controller = new AbortController();
  const { lend, takeBack } = lendMemory({ count: 1, sizeBytes: 10, signal: controller.signal });
  const only = await lend();
  const waiting = lend();
  controller.abort(new Fault("CANCELLED"));
  await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
  takeBack(only);
  await expect(lend()).rejects.toMatchObject({ code: "CANCELLED" });
});
