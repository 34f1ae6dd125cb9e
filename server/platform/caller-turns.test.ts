import { afterEach, beforeEach, expect, test } from "vitest";
import type { OpenedDatabase } from "#prisma/open.ts";
import { openTestDatabase } from "../testing/test-database.ts";
import { asCaller } from "./caller-turns.ts";

let opened: OpenedDatabase;
beforeEach(async () => {
  opened = await openTestDatabase();
});
afterEach(() => opened.close());

const MANY = 200;
const key = (index: number) => ({ name: `run-${index}` });

/** Asks a great deal as one caller, then once as another, and returns who was answered, in order. */
async function answersOf(ask: { many: (index: number) => Promise<unknown>; once: () => Promise<unknown> }) {
  const order: string[] = [];
  const many = Array.from({ length: MANY }, (_, index) =>
    asCaller("many", async () => {
      await ask.many(index);
      order.push("many");
    }),
  );
  const once = asCaller("once", async () => {
    await ask.once();
    order.push("once");
  });
  await Promise.all([...many, once]);
  return order;
}

test("one question waits for one of each other caller, not for all that they asked before", async () => {
  const { db } = opened;
  const many = (index: number) => db.run.findMany({ where: key(index) });
  const order = await answersOf({ many, once: () => db.run.findMany({ where: key(-1) }) });
  expect(order).toHaveLength(MANY + 1);
  expect(order.indexOf("once")).toBeLessThan(5);
});

test("the same holds for transactions, which are one turn from begin to end", async () => {
  const { db } = opened;
  const seen: number[] = [];
  const many = () =>
    db.$transaction(async (tx) => {
      const before = await tx.alertRule.count();
      seen.push(before, await tx.alertRule.count());
    });
  const order = await answersOf({ many, once: () => db.$transaction([db.run.count(), db.run.count()]) });
  expect(order.indexOf("once")).toBeLessThan(5);
  expect(seen).toHaveLength(2 * MANY);
});

test("a transaction that fails gives its turn on, and what it wrote is not there", async () => {
  const { db } = opened;
  const failing = asCaller("one", () =>
    db.$transaction(async (tx) => {
      await tx.adviceDismissal.create({ data: { key: "a", reason: "", until: null, by: "b", at: new Date(0) } });
      throw new Error("no");
    }),
  );
  await expect(failing).rejects.toThrow("no");
  expect(await asCaller("two", () => db.adviceDismissal.count())).toBe(0);
});
