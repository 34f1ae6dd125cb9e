import { randomBytes } from "node:crypto";
import type * as z from "zod";
import type { ObjectFacts, StartedUpload, startUploadsInput } from "#protocol/buckets/browser-transfers.ts";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import { liesInOwnFolder } from "#protocol/checkpoint/keys.ts";
import { createUpload, statObject, type ObjectState } from "#storage/s3/multipart.ts";
import { abortUpload } from "#storage/s3/objects.ts";
import { planParts } from "#storage/s3/plan.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { inTurn } from "./in-turn.ts";
import { checksumFor, ownUploadOf } from "./own-upload.ts";
import { sweepUploads } from "./sweep.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Begins uploads from a person's browser. Refuses keys in Tidemark's own folders, for the prefix of any profile of the bucket:
 * people must not be able to overwrite a checkpoint. An existing object stays unless the person chose to replace it.
 */

type Input = z.infer<typeof startUploadsInput>;
type File = Input["files"][number];

interface Batch {
  hub: Hub;
  caller: PersonCaller;
  store: OpenStore;
  ifThere: Input["ifThere"];
  /** Prefixes of all profiles with this bucket name, at any endpoint. */
  prefixes: readonly string[];
}

export const factsOf = (key: string, { sizeBytes, etag, modifiedAt, sum }: ObjectState): ObjectFacts => ({
  key,
  sizeBytes,
  etag,
  modifiedAt,
  sum,
});

const startedOf = (row: Parameters<typeof ownUploadOf>[0], store: OpenStore): StartedUpload => {
  const { partBytes, parts } = ownUploadOf(row, store);
  return { id: row.id, outcome: "started", partBytes, partCount: parts.length };
};

async function startOne(batch: Batch, file: File): Promise<StartedUpload> {
  const { hub, caller, store, ifThere } = batch;
  const { id, key, sizeBytes } = file;
  const { bucket, traits } = store.access;
  if (liesInOwnFolder(batch.prefixes, key)) {
    throw new Fault("HOSTILE_NAME", { op: "upload", subject: key, detail: "checkpoints are kept there" });
  }
  const known = await hub.db.browserUpload.findUnique({ where: { id } });
  if (known !== null) {
    const isSame = known.userId === caller.person.id && known.key === key && Number(known.sizeBytes) === sizeBytes;
    if (!isSame || known.endedAt !== null) throw new Fault("CONFLICT", { op: "upload", subject: key });
    return startedOf(known, store);
  }
  const { partBytes, parts } = planParts({ sizeBytes, traits });
  const checksum = checksumFor(store);
  if (ifThere === "keep") {
    const found = await statObject(store.client, { bucket, key, checksum });
    if (found !== null) return { id, outcome: "there", found: factsOf(key, found), partBytes };
  }
  const nonce = randomBytes(16).toString("hex");
  const uploadId =
    parts.length <= 1 ? null : (await createUpload(store.client, { bucket, key, nonce, checksum })).uploadId;
  try {
    const row = await hub.db.browserUpload.create({
      data: {
        id,
        userId: caller.person.id,
        profileId: store.profileId,
        key,
        sizeBytes: BigInt(sizeBytes),
        partBytes: BigInt(partBytes),
        uploadId,
        nonce,
        checksum,
        replaces: ifThere === "replace",
        startedAt: new Date(hub.now()),
      },
    });
    return startedOf(row, store);
  } catch (error) {
    // No row names the multipart upload, so nothing would abort it later.
    if (uploadId !== null) await abortUpload(store.client, { bucket, key, uploadId });
    throw error;
  }
}

const sayWhat = ({ store, ifThere }: Batch, files: readonly File[]): string => {
  const first = files[0]?.key ?? "";
  const rest = files.length === 1 ? "" : ` and ${files.length - 1} more`;
  return `${store.profileName}: ${first}${rest}${ifThere === "replace" ? ", in place of what is there" : ""}`;
};

/** Starts uploads; returns one outcome for each file, in order. A refused file does not hold up others. @throws Fault NOT_FOUND */
export async function startUploads(
  { hub, caller }: Context & { caller: PersonCaller },
  input: Input,
): Promise<StartedUpload[]> {
  const store = await hub.stores.open(input.profileId);
  const rows = await hub.db.profile.findMany({ where: { bucket: store.access.bucket }, select: { prefix: true } });
  const batch: Batch = { hub, caller, store, ifThere: input.ifThere, prefixes: rows.map(({ prefix }) => prefix) };
  await sweepUploads(hub, store);
  const started = await inTurn(input.files, (file) =>
    startOne(batch, file).catch((error: unknown): StartedUpload => ({
      id: file.id,
      outcome: "refused",
      fault: toFault(error).toData(),
    })),
  );
  const begun = input.files.filter((_, index) => started[index]?.outcome === "started");
  if (begun.length > 0) {
    const subject = sayWhat(batch, begun).slice(0, 1024);
    await audit(hub, caller, { action: "upload from a browser", subject, subjectId: store.profileId });
  }
  return started;
}
