import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase, type OpenedDatabase } from "./open.ts";
import { asCaller, createStatementTurns } from "./statement-turns.ts";

let opened: OpenedDatabase;
beforeEach(async () => {
  opened = await openDatabase(":memory:");
});
afterEach(() => opened.close());

const count = () => opened.db.user.count();

/** Asks a thousand times as `caller`, and says how many of these were answered. */
function askOften(caller: string, ask: () => Promise<unknown>) {
  const seen = { answered: 0 };
  const all = asCaller(caller, () =>
    Promise.all(Array.from({ length: 1_000 }, async () => void (await ask(), seen.answered++))),
  );
  return { seen, all };
}

test("a caller with 1,000 queued statements delays another by few of them", async () => {
  const { seen, all } = askOften("greedy", count);
  for (let asked = 1; asked <= 5; asked++) {
    await asCaller("other", count);
    expect(seen.answered).toBeLessThan(10 * asked);
  }
  await all;
  expect(seen.answered).toBe(1_000);
});

test("a caller with 1,000 queued transactions delays another's transaction by few of them", async () => {
  const twice = () => opened.db.$transaction(async (tx) => [await tx.user.count(), await tx.user.count()]);
  const { seen, all } = askOften("greedy", twice);
  await asCaller("other", twice);
  expect(seen.answered).toBeLessThan(10);
  await all;
});

test("nothing of others runs between the statements of a transaction", async () => {
  const { db } = opened;
  const name = "a";
  const written = asCaller("writer", () =>
    db.$transaction(async (tx) => {
      await tx.$executeRaw`CREATE TABLE Pair (name TEXT)`;
      const read = asCaller("reader", async () => db.$queryRaw`SELECT name FROM Pair`);
      await tx.$executeRaw`INSERT INTO Pair VALUES (${name})`;
      return { read };
    }),
  );
  const { read } = await written;
  expect(await read).toEqual([{ name }]);
});

test("a transaction that fails, or cannot begin, lets the next have its turn", async () => {
  const { db } = opened;
  const failed = db.$transaction(async (tx) => {
    await tx.user.count();
    throw new Error("on purpose");
  });
  await expect(failed).rejects.toThrow("on purpose");
  await expect(db.$queryRawUnsafe("SELECT a FROM nowhere")).rejects.toThrow("nowhere");
  expect(await count()).toBe(0);
});

test("ending a turn twice gives one turn away", async () => {
  const turns = createStatementTurns();
  const end = await turns.take();
  const order: string[] = [];
  const second = turns.take().then((over) => (order.push("second"), over));
  const third = turns.take().then(() => order.push("third"));
  end();
  end();
  const over = await second;
  expect(order).toEqual(["second"]);
  over();
  await third;
  expect(order).toEqual(["second", "third"]);
});
