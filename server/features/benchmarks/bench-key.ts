import * as z from "zod";
import { benchKey, type BenchKeyView, type setBenchKeyInput } from "#protocol/benchmarks/bench-key.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { benchFolder } from "#protocol/checkpoint/keys.ts";
import { temporaryPlaceOf } from "#storage/providers/providers.ts";
import { LEAST_LIFETIME_MS } from "#storage/signing/temporary-key.ts";
import type { Profile } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { benchKeyPlace } from "#server/signer/secret-place.ts";
import { draftOf } from "#server/core/profiles/open-store.ts";
import { refuseEndpoint } from "#server/platform/reach.ts";
import { newId } from "#server/platform/random-id.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { makeTemporaryKey } from "./make-temporary-key.ts";

/**
 * Benchmark keys, for engines of third parties, which cannot use presigned URLs. By allowing one, an admin permits such engines
 * against a bucket. Either the admin enters a key, or the store issues one for each turn, limited to the turn's folder and
 * time. Nodes hold it for their turn, in memory. The profile's own key never leaves the signer process.
 */

const kept = z.object({ key: benchKey, grant: z.string().nullable() });
export type BenchKey = z.infer<typeof kept>;

export async function listBenchKeys(hub: Hub): Promise<BenchKeyView[]> {
  const rows = await hub.db.profile.findMany({ orderBy: { name: "asc" }, include: { benchKey: true } });
  return rows.map(({ benchKey: key, ...profile }) => ({
    profileId: profile.id,
    profileName: profile.name,
    kind: key === null ? null : key.accessKeyHint === null ? "temporary" : "given",
    accessKeyHint: key?.accessKeyHint ?? null,
    hasGrant: key?.hasGrant ?? false,
    updatedAt: key?.updatedAt.getTime() ?? null,
    temporary: temporaryPlaceOf(draftOf(profile)),
  }));
}

async function findProfile(hub: Hub, id: string): Promise<Profile> {
  const row = await hub.db.profile.findUnique({ where: { id } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  return row;
}

/**
 * Stores a benchmark key, or allows temporary ones. Requests a temporary key at once, so that a mistake shows before a turn.
 * @throws Fault NOT_FOUND, ENDPOINT_REFUSED, those of the service that issues temporary keys
 */
export async function setBenchKey(context: Context, input: z.infer<typeof setBenchKeyInput>): Promise<{ ok: true }> {
  const { hub } = context;
  const { profileId, key, grant } = input;
  const profile = await findProfile(hub, profileId);
  const subject = profile.name;
  if (key.kind === "temporary") {
    const { way } = key;
    await refuseEndpoint(way.call === "sts" ? way.endpoint : way.url, hub.reach);
    const folder = benchFolder(profile.prefix, newId());
    await makeTemporaryKey(hub, profile, { way, folder, lifetimeMs: LEAST_LIFETIME_MS });
  }
  const text = JSON.stringify({ key, grant } satisfies BenchKey);
  const sealed = await hub.signer.sealText({ place: benchKeyPlace(profileId), text });
  const data = {
    ...sealed,
    accessKeyHint: key.kind === "given" ? key.accessKeyId.slice(-4) : null,
    hasGrant: grant !== null,
    updatedAt: new Date(hub.now()),
  };
  await hub.db.profileBenchKey.upsert({ where: { profileId }, create: { profileId, ...data }, update: data });
  const action = key.kind === "given" ? "set benchmark key" : "allow temporary benchmark keys";
  await audit(hub, context.caller, { action, subject, subjectId: profileId });
  hub.live.markStale(["benchmarks"]);
  return { ok: true };
}

/** Removes a benchmark key; from then on only engines that need no key run there. @throws Fault NOT_FOUND */
export async function removeBenchKey(context: Context, { id }: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const { name: subject } = await findProfile(hub, id);
  await hub.db.profileBenchKey.deleteMany({ where: { profileId: id } });
  await audit(hub, context.caller, { action: "remove benchmark key", subject, subjectId: id });
  hub.live.markStale(["benchmarks"]);
  return { ok: true };
}

/** Opens the benchmark key of a profile; null where none was allowed. */
export async function openBenchKey(hub: Hub, profileId: string): Promise<BenchKey | null> {
  const row = await hub.db.profileBenchKey.findUnique({ where: { profileId } });
  if (row === null) return null;
  const { text } = await hub.signer.openText({ place: benchKeyPlace(profileId), sealed: row.sealed });
  return kept.parse(JSON.parse(text));
}
