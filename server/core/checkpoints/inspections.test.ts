import { expect, it } from "vitest";
import { inspectFile } from "#storage/inspect/inspect-file.ts";
import { sourceOfBytes } from "#storage/inspect/source.ts";
import { createInspections } from "./inspections.ts";

const look = (text: string) => inspectFile("a.txt", sourceOfBytes(Buffer.from(text)));

it("a version is looked at once, and what has no version each time", async () => {
  const inspections = createInspections();
  let looks = 0;
  const count = () => {
    looks++;
    return look("text");
  };
  for (let round = 0; round < 3; round++) await inspections.of("v1", count);
  expect(looks).toBe(1);
  for (let round = 0; round < 3; round++) await inspections.of(null, count);
  expect(looks).toBe(4);
});

it("what was not asked for the longest goes when there is no more room", async () => {
  const inspections = createInspections(10_000);
  const looked: string[] = [];
  const ask = (version: string) =>
    inspections.of(version, () => {
      looked.push(version);
      return look(version);
    });
  for (const version of ["a", "b", "a", "c", "a", "b"]) await ask(version);
  expect(looked).toEqual(["a", "b", "c", "b"]);
});

it("only so many are looked at together, and one that fails makes room", async () => {
  const inspections = createInspections();
  let [now, most] = [0, 0];
  const work = async (index: number) => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    now--;
    if (index % 2 === 0) throw new Error("no");
    return look("x");
  };
  const ended = await Promise.allSettled(
    Array.from({ length: 12 }, (_, index) => inspections.of(`v${index}`, () => work(index))),
  );
  expect(ended.filter(({ status }) => status === "fulfilled")).toHaveLength(6);
  expect(most).toBe(3);
});
