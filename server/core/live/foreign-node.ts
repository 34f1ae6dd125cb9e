import type { Transaction } from "#prisma/open.ts";
import { UNKNOWN_FACTS } from "#protocol/wire/hello.ts";
import { hashOf, newSecret } from "#server/platform/random-id.ts";

/**
 * Every checkpoint in the database belongs to a node. External checkpoints belong to a placeholder node per profile: revoked
 * from the start, with a credential nobody has, and in no list of the fleet.
 */
const MARK = "adopted-";

/** A query condition that excludes placeholder nodes. */
export const REAL_NODES = { id: { not: { startsWith: MARK } } } as const;

export const foreignNodeId = (profileId: string): string => `${MARK}${profileId}`.slice(0, 64);

/** The name shown as the writer of an external checkpoint. */
export const FOREIGN_WRITER = "another tool";

export async function ensureForeignNode(
  tx: Pick<Transaction, "node">,
  at: { profileId: string; now: number },
): Promise<string> {
  const id = foreignNodeId(at.profileId);
  const gone = new Date(at.now);
  await tx.node.upsert({
    where: { id },
    update: {},
    create: {
      id,
      // Names of nodes cannot contain a space, so this one never collides.
      name: `${FOREIGN_WRITER} ${at.profileId}`,
      credentialHash: hashOf(newSecret("tmn")),
      profileId: at.profileId,
      facts: JSON.stringify(UNKNOWN_FACTS),
      enrolledAt: gone,
      leftAt: gone,
      revokedAt: gone,
      acceptedSeq: 0,
    },
  });
  return id;
}
