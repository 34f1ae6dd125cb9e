import { expect, test } from "vitest";
import { createSerialQueue } from "./serial-queue.ts";

function works() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const work = (name: string) => () => {
    begun.push(name);
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    return end.promise;
  };
  return { begun, ends, work };
}
const soon = () => new Promise((resolve) => setImmediate(resolve));

test("one begins when the one before it has ended, well or not", async () => {
  const { begun, ends, work } = works();
  const turns = createSerialQueue({ isQuick: () => true });
  const first = turns.run(work("first"));
  const second = turns.run(work("second"));
  const third = turns.run(work("third"));
  await soon();
  expect(begun).toEqual(["first"]);
  ends.get("first")?.reject(new Error("not to be read"));
  await expect(first).rejects.toThrow("not to be read");
  await soon();
  expect(begun).toEqual(["first", "second"]);
  ends.get("second")?.resolve("sum");
  expect(await second).toBe("sum");
  await soon();
  ends.get("third")?.resolve("other");
  expect(await third).toBe("other");
});

test("what has to wait for the disk waits side by side", async () => {
  const { begun, work } = works();
  const turns = createSerialQueue({ isQuick: () => false });
  for (const name of ["first", "second", "third"]) void turns.run(work(name));
  await soon();
  expect(begun).toEqual(["first", "second", "third"]);
});
