import { isFault } from "#protocol/faults/fault.ts";
import { abortUpload } from "#storage/s3/objects.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { inTurn } from "./in-turn.ts";
import { findOwn } from "./own-upload.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Gives up uploads of the caller: removes what was sent of them from the store. A finished upload stays; an unknown one counts
 * as given up. Faults: those of the store.
 */
export async function giveUpUploads(
  { hub, caller }: Context & { caller: PersonCaller },
  input: { ids: string[] },
): Promise<{ ok: true }> {
  const given = await inTurn(input.ids, async (id) => {
    const row = await findOwn(hub, caller, id).catch((error: unknown) => {
      if (isFault(error) && error.code === "NOT_FOUND") return null;
      throw error;
    });
    if (row === null || row.endedAt !== null) return null;
    const { client, access } = await hub.stores.open(row.profileId);
    const { key, uploadId } = row;
    if (uploadId !== null) await abortUpload(client, { bucket: access.bucket, key, uploadId });
    await hub.db.browserUpload.update({ where: { id }, data: { endedAt: new Date(hub.now()) } });
    return row;
  });
  const rows = given.filter((row) => row !== null);
  const [first] = rows;
  if (first !== undefined) {
    const subject = rows.length === 1 ? first.key : `${first.key} and ${rows.length - 1} more`;
    await audit(hub, caller, { action: "give up an upload from a browser", subject, subjectId: first.profileId });
  }
  return { ok: true };
}
