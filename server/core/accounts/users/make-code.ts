import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { CodeKind, CodeView, inviteInput } from "#protocol/fleet/people.ts";
import type { Transaction } from "#prisma/open.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { hashOf, newId, newSecret } from "#server/platform/random-id.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { codeViewOf, linkOf } from "./codes.ts";
import type { PersonCaller, SessionCaller } from "../../api/caller.ts";

export interface MadeCode {
  view: CodeView;
  /** Shown once, because the hub stores only the hash of the code. */
  link: string;
}

const RESET_VALID_MS = 86_400_000;
const SHOWN = 200;

interface NewCode {
  kind: CodeKind;
  email: string;
  role: string;
  userId: string | null;
  validMs: number;
}

/**
 * Creates a code for the account that `look` finds in the same transaction, and revokes open codes of that kind and address.
 */
async function makeCode(
  { hub, caller, origin }: Context & { caller: SessionCaller },
  action: string,
  look: (tx: Transaction) => Promise<NewCode>,
): Promise<MadeCode> {
  const now = new Date(hub.now());
  const made = await hub.db.$transaction(async (tx) => {
    const { kind, email, role, userId, validMs } = await look(tx);
    const code = newSecret(kind === "invitation" ? "tmi" : "tmr");
    await tx.oneTimeCode.updateMany({
      where: { kind, email, usedAt: null, revokedAt: null },
      data: { revokedAt: now },
    });
    const ends = { expiresAt: new Date(now.getTime() + validMs), usedAt: null, revokedAt: null };
    const row = await tx.oneTimeCode.create({
      data: {
        id: newId(),
        hash: hashOf(code),
        kind,
        email,
        role,
        userId,
        madeById: caller.person.id,
        createdAt: now,
        ...ends,
      },
    });
    const about = { action, subject: email, subjectId: userId ?? row.id };
    await audit({ db: tx, now: hub.now }, caller, about);
    return { view: codeViewOf(row), link: linkOf(origin, kind, code) };
  });
  emit(hub, null, ["account"]);
  return made;
}

/** Creates an invitation. @throws Fault CONFLICT when there is an account with this address */
export const invite = (
  context: Context & { caller: SessionCaller },
  { email, role, validMs }: z.infer<typeof inviteInput>,
): Promise<MadeCode> =>
  makeCode(context, `invite ${role}`, async (tx) => {
    const known = await tx.user.findUnique({ where: { email } });
    if (known !== null)
      throw new Fault("CONFLICT", { subject: email, detail: "there is an account with this address" });
    return { kind: "invitation", email, role, userId: null, validMs };
  });

/** Creates a link to reset a forgotten password: for one use within a day. @throws Fault NOT_FOUND, ACCOUNT_DISABLED */
export const makeReset = (context: Context & { caller: SessionCaller }, input: { id: string }): Promise<MadeCode> =>
  makeCode(context, "reset password", async (tx) => {
    const user = await tx.user.findUnique({ where: { id: input.id } });
    if (user === null) throw new Fault("NOT_FOUND", { subject: "this account" });
    if (user.disabledAt !== null) throw new Fault("ACCOUNT_DISABLED", { subject: user.email });
    return { kind: "reset", email: user.email, role: user.role, userId: user.id, validMs: RESET_VALID_MS };
  });

/** Returns links, newest first, including used and expired ones. */
export async function listCodes(hub: Hub): Promise<CodeView[]> {
  const rows = await hub.db.oneTimeCode.findMany({ orderBy: { createdAt: "desc" }, take: SHOWN });
  return rows.map(codeViewOf);
}

/** Revokes a link; a used or revoked one stays as it is. @throws Fault NOT_FOUND */
export async function revokeCode(
  { hub, caller }: Context & { caller: PersonCaller },
  input: { id: string },
): Promise<{ ok: true }> {
  await hub.db.$transaction(async (tx) => {
    const row = await tx.oneTimeCode.findUnique({ where: { id: input.id } });
    if (row === null) throw new Fault("NOT_FOUND", { subject: "this link" });
    if (row.usedAt !== null || row.revokedAt !== null) return;
    await tx.oneTimeCode.update({ where: { id: row.id }, data: { revokedAt: new Date(hub.now()) } });
    const about = { action: `revoke ${row.kind}`, subject: row.email, subjectId: row.userId ?? row.id };
    await audit({ db: tx, now: hub.now }, caller, about);
  });
  emit(hub, null, ["account"]);
  return { ok: true };
}
