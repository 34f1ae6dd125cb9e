import type { Database } from "#prisma/open.ts";
import { Fault } from "#protocol/fault.ts";
import type { Keeper } from "../keeper/messages.ts";

/**
 * The master key fits what is stored, or is the first one of a database that holds nothing sealed.
 * @throws Fault MASTER_KEY_MISSING, MASTER_KEY_WRONG, MASTER_KEY_WEAK
 */
export async function checkMasterKey(db: Database, keeper: Pick<Keeper, "open">, now: number): Promise<void> {
  const row = await db.canary.findUnique({ where: { id: 1 } });
  // A new key could not open what is sealed already.
  if (row === null && (await db.profileSecret.count()) > 0) throw new Fault("MASTER_KEY_MISSING");
  const { canary } = await keeper.open({ canary: row?.sealed ?? null });
  if (row === null) await db.canary.create({ data: { id: 1, sealed: canary, createdAt: new Date(now) } });
}
