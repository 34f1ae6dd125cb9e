import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Fault } from "#protocol/faults/fault.ts";
import { lockDatabase } from "./lock-database.ts";
import { openSession } from "./pool.ts";

const server = process.env["TEST_POSTGRES_URL"];
const NAME = `lock_${process.pid}_${Date.now()}`;
/** The number of the lock, as in the product. */
const LOCK = 0x544944454d41524bn;
const ignore = () => undefined;

describe.skipIf(server === undefined)("the lock of a database", () => {
  const administer = async (sql: string): Promise<void> => {
    const session = await openSession({ directUrl: server ?? "" });
    await session.query(sql);
    await session.end();
  };
  const place = { url: "", directUrl: "", connections: 2 };
  beforeAll(async () => {
    await administer(`CREATE DATABASE "${NAME}"`);
    const url = new URL(server ?? "");
    url.pathname = `/${NAME}`;
    place.directUrl = url.href;
  });
  afterAll(() => administer(`DROP DATABASE "${NAME}" WITH (FORCE)`));
  const endSessions = () =>
    administer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${NAME}'`);

  test("lets one hub in, tells the next who has it, and lets it in after the first", async () => {
    const first = await lockDatabase(place, { waitMs: 0, onTaken: ignore });
    await expect(lockDatabase(place, { waitMs: 200, onTaken: ignore })).rejects.toMatchObject({
      code: "DATABASE_IN_USE",
      message: expect.stringMatching(/\(by a hub at 127\.0\.0\.1, since \d{4}-/) as string,
    });
    await first.release();
    await (await lockDatabase(place, { waitMs: 0, onTaken: ignore })).release();
  });

  test("is taken again when its session breaks, and is not held meanwhile", async () => {
    const lock = await lockDatabase(place, { waitMs: 0, onTaken: ignore });
    expect(lock.isHeld()).toBe(true);
    await endSessions();
    await vi.waitFor(() => expect(lock.isHeld()).toBe(false), { timeout: 60_000, interval: 1 });
    await vi.waitFor(() => expect(lock.isHeld()).toBe(true), { timeout: 60_000 });
    await expect(lockDatabase(place, { waitMs: 0, onTaken: ignore })).rejects.toMatchObject({
      code: "DATABASE_IN_USE",
    });
    await lock.release();
  });

  test("a hub whose lock another hub has taken is told, and no longer holds it", async () => {
    const onTaken = vi.fn<(fault: Fault) => void>();
    const first = await lockDatabase(place, { waitMs: 0, onTaken, regainMs: 300 });
    const rival = await openSession(place);
    // Waits in the server's own queue, so it has the lock as soon as the session ends.
    const has = rival.query(`SELECT pg_advisory_lock(${LOCK})`);
    await vi.waitFor(async () => {
      const { rows } = await (
        await sessionOf()
      ).query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
      expect(rows).toHaveLength(1);
    });
    await endHolder();
    await has;
    await vi.waitFor(() => expect(onTaken).toHaveBeenCalledOnce(), { timeout: 60_000 });
    expect(first.isHeld()).toBe(false);
    expect(onTaken.mock.calls[0]?.[0].code).toBe("DATABASE_IN_USE");
    await rival.end();
    await first.release();
    await (await sessionOf()).end();
  });

  let asking: ReturnType<typeof openSession> | null = null;
  const sessionOf = () => (asking ??= openSession({ directUrl: server ?? "" }));
  const endHolder = () =>
    administer(
      `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = '${NAME}' AND l.locktype = 'advisory' AND l.granted`,
    );
});
