import type { CopyState, CopyView } from "#protocol/wire/homes.ts";
import { attemptPrefix } from "#protocol/checkpoint/keys.ts";
import { attemptId, runName } from "#protocol/base/names.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import type { Hub } from "../api/hub.ts";
import { WITHOUT_MANIFEST } from "../profiles/homes-of.ts";
import { awayFor } from "./note-away.ts";

const timeOf = (date: Date | null): number | null => date?.getTime() ?? null;

/** Returns the copies of a checkpoint, the first one being that of its own row, which is read by default. */
export async function copiesOf(hub: Hub, checkpoint: Checkpoint): Promise<CopyView[]> {
  const copies = await hub.db.checkpointCopy.findMany({
    where: { checkpointId: checkpoint.id, state: { in: ["copying", "complete"] } },
    omit: WITHOUT_MANIFEST,
    orderBy: { startedAt: "asc" },
  });
  const ids = [checkpoint, ...copies].map(({ profileId }) => profileId);
  const profiles = await hub.db.profile.findMany({ where: { id: { in: ids } }, select: { id: true, name: true } });
  return [checkpoint, ...copies].map((one): CopyView => {
    const at = { run: runName.parse(one.run), epoch: checkpoint.writerEpoch, attempt: attemptId.parse(one.attempt) };
    const state = one === checkpoint ? "complete" : (one.state as CopyState);
    return {
      profileId: one.profileId,
      name: profiles.find(({ id }) => id === one.profileId)?.name ?? one.bucket,
      bucket: one.bucket,
      state,
      isFirst: one === checkpoint,
      committedAt: timeOf(one.committedAt),
      verifiedAt: timeOf(one.verifiedAt),
      damagedAt: timeOf(one.damagedAt),
      location: `s3://${one.bucket}/${attemptPrefix(one.prefix, at)}`,
      isAway: awayFor(hub, one.profileId) !== null,
    };
  });
}
