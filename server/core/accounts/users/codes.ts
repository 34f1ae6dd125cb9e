import { Fault } from "#protocol/faults/fault.ts";
import type { CodeKind, CodeView } from "#protocol/fleet/people.ts";
import { role } from "#protocol/wire/requests.ts";
import type { Transaction } from "#prisma/open.ts";
import type { OneTimeCode } from "#prisma/client/client.ts";
import { hashOf } from "#server/platform/random-id.ts";

/**
 * Links that open one account once: an invitation makes it, a reset gives it another password. The code has 256 bits and
 * stands behind the `#` of the link, which no browser sends anywhere; the hub keeps its hash and shows it once, to whoever
 * asked for it. Nothing is mailed.
 */

const PAGES: Record<CodeKind, string> = { invitation: "invitation", reset: "reset-password" };

export const linkOf = (origin: string, kind: CodeKind, code: string): string => `${origin}/${PAGES[kind]}#${code}`;

export const codeViewOf = (row: OneTimeCode): CodeView => ({
  id: row.id,
  kind: row.kind === "reset" ? "reset" : "invitation",
  email: row.email,
  role: role.parse(row.role),
  createdAt: row.createdAt.getTime(),
  expiresAt: row.expiresAt.getTime(),
  usedAt: row.usedAt?.getTime() ?? null,
  revokedAt: row.revokedAt?.getTime() ?? null,
});

/** The row of a code that is still good. @throws Fault CODE_REFUSED, the same for all that are not */
export async function goodCode(
  tx: Pick<Transaction, "oneTimeCode">,
  asked: { code: string; kind: CodeKind; now: number },
): Promise<OneTimeCode> {
  const row = await tx.oneTimeCode.findUnique({ where: { hash: hashOf(asked.code) } });
  const isGood =
    row !== null &&
    row.kind === asked.kind &&
    row.usedAt === null &&
    row.revokedAt === null &&
    asked.now < row.expiresAt.getTime();
  if (!isGood) throw new Fault("CODE_REFUSED");
  return row;
}
