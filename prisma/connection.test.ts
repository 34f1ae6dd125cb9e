import { expect, it } from "vitest";
import { connect } from "./connection.ts";

/** Takes some milliseconds. */
const LONG = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT COUNT(*) FROM n`;

it("lets the event loop turn between statements that follow each other, also within a transaction", async () => {
  const client = await connect(":memory:");
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  for (let asked = 0; asked < 10; asked++) await client.execute({ sql: LONG, args: [] });
  expect(turns).toBeGreaterThan(5);
  turns = 0;
  const transaction = await client.transaction("write");
  for (let asked = 0; asked < 10; asked++) await transaction.execute(LONG);
  await transaction.commit();
  expect(turns).toBeGreaterThan(5);
  clearImmediate(next);
  client.close();
});
