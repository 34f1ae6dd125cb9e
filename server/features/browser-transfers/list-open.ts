import type { OpenUpload } from "#protocol/buckets/browser-transfers.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

const MOST = 500;

/** Returns the caller's uploads that are neither completed nor given up, from any browser; oldest first. */
export async function listOpenUploads({ hub, caller }: Context & { caller: PersonCaller }): Promise<OpenUpload[]> {
  const rows = await hub.db.browserUpload.findMany({
    where: { userId: caller.person.id, endedAt: null },
    include: { profile: { select: { name: true, bucket: true } } },
    orderBy: { startedAt: "asc" },
    take: MOST,
  });
  return rows.map(({ id, profileId, profile, key, sizeBytes, startedAt }) => ({
    id,
    profileId,
    profileName: profile.name,
    bucket: profile.bucket,
    key,
    sizeBytes: Number(sizeBytes),
    startedAt: startedAt.getTime(),
  }));
}
