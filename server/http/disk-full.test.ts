import { afterAll, beforeAll, expect, test } from "vitest";
import { isPostgres } from "../testing/test-database.ts";
import { fault } from "../testing/match-fault.ts";
import { addTestNode, addTestProfile, callAs, openTestHub, type TestHub } from "../testing/open-test-hub.ts";

let opened: TestHub;
let profileId: string;
beforeAll(async () => {
  opened = await openTestHub();
  profileId = await addTestProfile(opened.hub, "http://127.0.0.1:9");
});
afterAll(() => opened.close());

const addToken = () =>
  callAs(opened.hub, "admin").tokens.create({ label: "x".repeat(40), profileId, maxUses: 1, validMs: 3_600_000 });

/** Lets the database have this many pages more than it has; its writes fail beyond as they do on a full disk. */
async function leavePages(more: number): Promise<void> {
  const [row] = await opened.hub.db.$queryRawUnsafe<{ page_count: bigint }[]>("PRAGMA page_count");
  await opened.hub.db.$queryRawUnsafe(`PRAGMA max_page_count = ${Number(row?.page_count ?? 0) + more}`);
}

// Only SQLite can be told how long its file may be; the code of PostgreSQL for a full disk is tested beside its adapter.
test.skipIf(isPostgres)("a full disk is named, refuses no reading, and is left without a restart", async () => {
  await leavePages(0);
  const made: string[] = [];
  const fill = async (): Promise<void> => {
    for (let count = 0; count < 500; count++) made.push((await addToken()).token);
  };
  await expect(fill()).rejects.toEqual(fault("HUB_DISK_FULL"));
  await expect(addToken()).rejects.toEqual(fault("HUB_DISK_FULL"));
  // A transaction that is refused leaves nothing open.
  await expect(addTestNode(opened.hub, profileId, "n1")).rejects.toEqual(fault("HUB_DISK_FULL"));
  expect(await callAs(opened.hub, "admin").runs.list()).toEqual([]);
  const kept = await opened.hub.db.joinToken.count();
  expect(kept).toBe(made.length);
  await leavePages(10_000);
  expect((await addTestNode(opened.hub, profileId, "n1")).name).toBe("n1");
  expect(await opened.hub.db.joinToken.count()).toBe(kept + 1);
});
