import type { Database } from "#prisma/open.ts";
import type { Caller } from "./caller.ts";
import { actorOf } from "./audit.ts";

/**
 * Records every use of a bucket key in the audit. A node has thousands of parts signed, so uses are counted. The first use by
 * one actor with one key writes a row before anything signed leaves the hub. Uses within the next hour are added to that row
 * every few seconds. A killed hub loses some of the count, but never who used which key in which hour.
 */

export type KeyUse = "sign writes" | "sign reads" | "sign deletes" | "use key" | "lend benchmark key";

export interface KeyUses {
  /** Resolves when the use is on record: immediately, except for the first use of an hour. */
  note(use: {
    caller: Caller | "hub";
    profileId: string;
    profileName: string;
    action: KeyUse;
    times: number;
  }): Promise<void>;
  /** Adds the uses counted since the last flush to their rows. */
  flush(): Promise<void>;
}

const WINDOW_MS = 3_600_000;

interface Row {
  id: Promise<number>;
  beganAt: number;
  /** Uses that are counted but not in the database yet. */
  more: number;
  lastAt: number;
}

const HUB = { actorKind: "hub", actorId: null, tokenId: null, actor: "hub" } as const;

export function createKeyUses(db: Pick<Database, "audit">, now: () => number): KeyUses {
  const rows = new Map<string, Row>();
  return {
    note: async ({ caller, profileId, profileName, action, times }) => {
      if (times === 0) return;
      const actor = caller === "hub" ? HUB : actorOf(caller);
      const key = JSON.stringify([actor.actorKind, actor.actorId, actor.tokenId, action, profileId]);
      const at = now();
      const known = rows.get(key);
      if (known !== undefined && at - known.beganAt < WINDOW_MS) {
        known.more += times;
        known.lastAt = at;
        await known.id;
        return;
      }
      const entry = { action, subject: profileName, subjectId: profileId, address: null, times };
      const written = db.audit.create({ data: { at: new Date(at), ...actor, ...entry, lastAt: new Date(at) } });
      // The previous row stays in memory until its count is flushed.
      const row: Row = { id: written.then(({ id }) => id), beganAt: at, more: 0, lastAt: at };
      if (known !== undefined) rows.set(`${key} until ${at}`, known);
      rows.set(key, row);
      // A use that could not be recorded is refused, so the next one must try again.
      row.id.catch(() => rows.delete(key));
      await row.id;
    },
    flush: async () => {
      const at = now();
      for (const [key, row] of rows) {
        const { more, lastAt } = row;
        row.more = 0;
        try {
          if (more > 0) await add(await row.id, { more, lastAt });
        } catch (error) {
          row.more += more;
          throw error;
        }
        if (row.more === 0 && at - row.beganAt >= WINDOW_MS) rows.delete(key);
      }
    },
  };

  async function add(id: number, { more, lastAt }: { more: number; lastAt: number }): Promise<void> {
    await db.audit.updateMany({ where: { id }, data: { times: { increment: more }, lastAt: new Date(lastAt) } });
  }
}
