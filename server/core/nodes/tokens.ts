import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { createTokenInput } from "#protocol/wire/requests.ts";
import type { TokenView } from "#protocol/wire/views.ts";
import type { JoinToken, Profile } from "#prisma/client/client.ts";
import { audit } from "../api/audit.ts";
import { emit } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { hashOf, newId, newSecret } from "#server/platform/random-id.ts";
import type { Context } from "../api/trpc.ts";

/** Join tokens let a new node enroll. Only the hash is stored; the token itself is shown once, when it is created. */

const HINT_LENGTH = 10;

const viewOf = (row: JoinToken & { profile: Pick<Profile, "name"> }): TokenView => ({
  id: row.id,
  label: row.label,
  fleet: row.fleet,
  runs: row.runs,
  profileId: row.profileId,
  profileName: row.profile.name,
  hint: row.hint,
  uses: row.uses,
  maxUses: row.maxUses,
  createdAt: row.createdAt.getTime(),
  expiresAt: row.expiresAt.getTime(),
  revokedAt: row.revokedAt?.getTime() ?? null,
});

/** Returns join tokens, newest first. */
export async function listTokens(hub: Hub): Promise<TokenView[]> {
  const rows = await hub.db.joinToken.findMany({
    include: { profile: true },
    orderBy: { createdAt: "desc" },
    take: 500,
  });
  return rows.map(viewOf);
}

/** Creates a join token and returns it once. @throws Fault NOT_FOUND when the profile does not exist */
export async function createToken(
  context: Context,
  input: z.infer<typeof createTokenInput>,
): Promise<{ view: TokenView; token: string; hubUrl: string }> {
  const { hub } = context;
  const profile = await hub.db.profile.findUnique({ where: { id: input.profileId } });
  if (profile === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  const token = newSecret("tmj");
  const now = hub.now();
  const row = await hub.db.joinToken.create({
    data: {
      id: newId(),
      hash: hashOf(token),
      hint: token.slice(0, HINT_LENGTH),
      label: input.label,
      fleet: input.fleet,
      runs: input.runs,
      profileId: profile.id,
      uses: 0,
      maxUses: input.maxUses,
      createdAt: new Date(now),
      expiresAt: new Date(now + input.validMs),
      revokedAt: null,
    },
    include: { profile: true },
  });
  await audit(hub, context.caller, { action: "create join token", subject: row.hint, subjectId: row.id });
  emit(hub, null, ["tokens"]);
  return { view: viewOf(row), token, hubUrl: context.origin };
}

/** Revokes a join token; nodes that enrolled with it stay. @throws Fault NOT_FOUND */
export async function revokeToken(context: Context, input: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const { count } = await hub.db.joinToken.updateMany({
    where: { id: input.id, revokedAt: null },
    data: { revokedAt: new Date(hub.now()) },
  });
  const row = await hub.db.joinToken.findUnique({ where: { id: input.id } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this join token" });
  if (count > 0)
    await audit(hub, context.caller, { action: "revoke join token", subject: row.hint, subjectId: row.id });
  emit(hub, null, ["tokens"]);
  return { ok: true };
}
