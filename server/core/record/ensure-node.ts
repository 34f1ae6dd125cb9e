import type { Transaction } from "#prisma/open.ts";
import { UNKNOWN_FACTS } from "#protocol/wire/hello.ts";
import { hashOf, newSecret } from "#server/platform/random-id.ts";

const LONGEST_NAME = 64;

/**
 * Records a node that the bucket names and the database does not know, as gone. Its credential was lost with the database, so
 * it must enroll again, as a new node.
 */
export async function ensureNode(
  tx: Pick<Transaction, "node">,
  node: { id: string; name: string },
  at: { profileId: string; now: number },
): Promise<void> {
  if ((await tx.node.findUnique({ where: { id: node.id }, select: { id: true } })) !== null) return;
  const taken = await tx.node.findUnique({ where: { name: node.name }, select: { id: true } });
  const suffix = `-${node.id.replace(/-/g, "").slice(0, 8)}`;
  const gone = new Date(at.now);
  await tx.node.create({
    data: {
      id: node.id,
      name: taken === null ? node.name : node.name.slice(0, LONGEST_NAME - suffix.length) + suffix,
      // The secret of this hash is discarded, so nobody can use the row to sign in.
      credentialHash: hashOf(newSecret("tmn")),
      profileId: at.profileId,
      facts: JSON.stringify(UNKNOWN_FACTS),
      enrolledAt: gone,
      tokenId: null,
      lastSeenAt: null,
      leftAt: gone,
      revokedAt: null,
      acceptedSeq: 0,
      lastReport: null,
    },
  });
}
