import { Fault } from "#protocol/faults/fault.ts";
import type { CodeKind, CodeView } from "#protocol/fleet/people.ts";
import { role } from "#protocol/wire/requests.ts";
import type { Transaction } from "#prisma/open.ts";
import type { OneTimeCode } from "#prisma/client/client.ts";
import { hashOf } from "#server/platform/random-id.ts";

/**
 * One-time links to an account: an invitation creates it, a reset replaces its password. The code has 256 bits and is in the
 * fragment (`#`) of the link, which browsers never send. The hub stores its hash and shows the link once, to the person who
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

/** Returns the row of a valid code. @throws Fault CODE_REFUSED, the same for every invalid code */
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
