import type { Database } from "#prisma/open.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Signer } from "./messages.ts";
import { rewrapSecrets, type Rewrapped } from "./rewrap.ts";

/**
 * Checks that the master key fits the database, or seals everything again with a new one, or creates the canary of a database
 * without secrets.
 * @throws Fault MASTER_KEY_MISSING, MASTER_KEY_WRONG, MASTER_KEY_WEAK
 */
export async function checkMasterKey(
  db: Database,
  signer: Pick<Signer, "open" | "rewrap">,
  now: number,
): Promise<Rewrapped> {
  if ((await db.canary.count()) > 0) return rewrapSecrets(db, signer, now);
  // A new key could not open what is sealed already.
  if ((await db.profileSecret.count()) > 0) throw new Fault("MASTER_KEY_MISSING");
  const { sealed, keyVersion } = await signer.open({ canary: null });
  await db.canary.create({ data: { id: 1, sealed, keyVersion, createdAt: new Date(now) } });
  return { keyVersion, rewrapped: 0 };
}
