import { Fault } from "#protocol/faults/fault.ts";
import { planParts, type PlannedPart } from "#storage/s3/plan.ts";
import type { BrowserUpload } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/** An upload belongs to the person who began it. Others get NOT_FOUND, so that ids reveal nothing. */

/** A stored upload with sizes as numbers and with the parts that were planned when it began. */
export interface OwnUpload {
  row: BrowserUpload;
  sizeBytes: number;
  partBytes: number;
  parts: PlannedPart[];
  checksum: "crc32" | "none";
}

/** Returns the checksum that pages send: they compute no MD5. An untested store gets none, which every store accepts. */
export const checksumFor = ({ access }: Pick<OpenStore, "access">): "crc32" | "none" =>
  access.traits.checksum === "crc32" && !access.traits.probeChecksum ? "crc32" : "none";

export function ownUploadOf(row: BrowserUpload, store: Pick<OpenStore, "access">): OwnUpload {
  const [sizeBytes, partBytes] = [Number(row.sizeBytes), Number(row.partBytes)];
  const { parts } = planParts({ sizeBytes, traits: store.access.traits, requestedPartBytes: partBytes });
  return { row, sizeBytes, partBytes, parts, checksum: row.checksum === "crc32" ? "crc32" : "none" };
}

/** Returns the caller's own upload. @throws Fault NOT_FOUND */
export async function findOwn(hub: Hub, caller: PersonCaller, id: string): Promise<BrowserUpload> {
  const row = await hub.db.browserUpload.findUnique({ where: { id } });
  if (row === null || row.userId !== caller.person.id) {
    throw new Fault("NOT_FOUND", { op: "browser upload", detail: "you have begun no such upload" });
  }
  return row;
}

/**
 * Returns the caller's own upload while it is open, with its store.
 * @throws Fault NOT_FOUND, NO_SUCH_UPLOAD when it was given up or is done
 */
export async function openOwn(
  hub: Hub,
  caller: PersonCaller,
  id: string,
): Promise<{ upload: OwnUpload; store: OpenStore }> {
  const row = await findOwn(hub, caller, id);
  if (row.endedAt !== null) throw new Fault("NO_SUCH_UPLOAD", { op: "browser upload", subject: row.key });
  const store = await hub.stores.open(row.profileId);
  return { upload: ownUploadOf(row, store), store };
}
