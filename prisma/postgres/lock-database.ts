import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { Fault } from "#protocol/faults/fault.ts";
import { openSession, type PostgresPlace } from "./pool.ts";

/**
 * Allows one hub per database: a session holds an advisory lock for as long as the hub runs. The server releases it when the
 * session ends in any way, so no stale lock can remain. A pooler in transaction mode would share the session, so the lock needs
 * the direct address.
 */

/** The lock's number: the bytes of "TIDEMARK" as a positive 64-bit number. */
const LOCK = 0x544944454d41524bn;
const TRY_EVERY_MS = 100;
/** How often the session asks whether it is still there: a broken network says nothing by itself. */
const ASK_EVERY_MS = 5_000;
const TRY_AGAIN_EVERY_MS = 1_000;
/** After a broken session the server may take this long to notice that its holder, this hub, is gone. */
const OWN_SESSION_MS = 30_000;

/** Returns who holds the lock, as the server knows them. */
async function holderOf(client: Client): Promise<string> {
  const { rows } = await client.query<{ address: string | null; since: string }>(
    `SELECT host(a.client_addr) AS address, to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS since
      FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND (l.classid::bigint << 32) + l.objid::bigint = ${LOCK}
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  const [row] = rows;
  return row === undefined ? "another hub" : `a hub at ${row.address ?? "this machine"}, since ${row.since} UTC`;
}

export interface LockOptions {
  waitMs: number;
  /** How long to try to get the lock back after its session broke. For tests; default: half a minute. */
  regainMs?: number;
  /** Called once when another hub has taken the database over: this one must end. */
  onTaken: (fault: Fault) => void;
}

export interface DatabaseLock {
  /** False while the session is broken: another hub may have the database, so nothing may be written. */
  isHeld: () => boolean;
  release: () => Promise<void>;
}

/** Opens a session that has the lock. @throws Fault DATABASE_IN_USE when another hub holds it for longer than `waitMs` */
async function takeLock(place: PostgresPlace, waitMs: number, onBroken: () => void): Promise<Client> {
  const session = await openSession(place, onBroken);
  const until = performance.now() + waitMs;
  try {
    for (;;) {
      const { rows } = await session.query<{ got: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS got`);
      if (rows[0]?.got === true) return session;
      if (performance.now() >= until) throw new Fault("DATABASE_IN_USE", { detail: `by ${await holderOf(session)}` });
      await sleep(TRY_EVERY_MS);
    }
  } catch (error) {
    await session.end().catch(() => undefined);
    throw error;
  }
}

/**
 * Takes the lock, and takes it again when its session breaks.
 * @throws Fault DATABASE_IN_USE when another hub holds it for longer than `waitMs`
 */
export async function lockDatabase(
  place: PostgresPlace,
  { waitMs, onTaken, regainMs = OWN_SESSION_MS }: LockOptions,
): Promise<DatabaseLock> {
  const ending = new AbortController();
  let session: Client | null = null;
  const take = async (forMs: number): Promise<void> => {
    const mine: { session: Client | null; isBroken: boolean } = { session: null, isBroken: false };
    const lose = (): void => {
      if (mine.isBroken) return;
      mine.isBroken = true;
      if (mine.session !== null && session === mine.session && !ending.signal.aborted) {
        session = null;
        void regain();
      }
    };
    const taken = await takeLock(place, forMs, lose);
    mine.session = taken;
    if (mine.isBroken) throw new Error("the session ended as soon as it had the lock");
    session = taken;
    const asking = setInterval(() => {
      if (session === taken) taken.query("SELECT 1").catch(lose);
      else clearInterval(asking);
    }, ASK_EVERY_MS);
    asking.unref();
  };
  const regain = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      try {
        return await take(regainMs);
      } catch (error) {
        if (error instanceof Fault && error.code === "DATABASE_IN_USE") return onTaken(error);
      }
      await sleep(TRY_AGAIN_EVERY_MS, null, { signal: ending.signal }).catch(() => undefined);
    }
  };
  await take(waitMs);
  return {
    isHeld: () => session !== null,
    release: async () => {
      ending.abort();
      const last = session;
      session = null;
      await last?.end().catch(() => undefined);
    },
  };
}
