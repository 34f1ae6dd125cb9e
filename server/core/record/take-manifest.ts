import { isAdopted, storedManifest, type AdoptedManifest, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { attemptPrefix, manifestKey, parseDataKey } from "#protocol/checkpoint/keys.ts";
import { sameContent } from "#protocol/wire/homes.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { isSealed } from "#storage/encryption/open-manifest.ts";
import { isOwnKey } from "#storage/detect/is-own-key.ts";
import { fileColumnsOf, recordAdoption } from "../checkpoints/external/record-adoption.ts";
import { checkObjects, compareObjects } from "../checkpoints/manifest/check-manifest.ts";
import { pieceToStore } from "../checkpoints/join-step.ts";
import { placeToStore } from "../runs/place-of-row.ts";
import { WITHOUT_MANIFEST } from "../profiles/homes-of.ts";
import { weighObjects } from "../checkpoints/manifest/weigh-objects.ts";
import { hashOf } from "#server/platform/random-id.ts";
import { ensureNode } from "./ensure-node.ts";
import { readJson, refused, type HistoryKind, type HistoryObject, type HistoryScope } from "./history-kind.ts";

/**
 * Records checkpoints from their manifests in the bucket. No node can write manifests; still each is checked as strictly as
 * at commit. The checks cover its key, its place, the keys it names, and every object it names. A manifest that fails is
 * refused, and the others go on.
 */

/** Parses a manifest and checks its keys. @throws Fault BAD_INPUT, NOT_THIS_NODES */
function readManifest({ store, run }: HistoryScope, object: HistoryObject): StoredManifest {
  const parsed = storedManifest.safeParse(readJson(object));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw refused(object, `${issue?.path.map(String).join(".") ?? ""}: ${issue?.message ?? "it is no manifest"}`);
  }
  const read = parsed.data;
  const { writerEpoch: epoch, step, id: checkpointId, attempt } = read;
  if (read.run !== run || manifestKey(store.prefix, { run, epoch, step, checkpointId, attempt }) !== object.key) {
    throw refused(object, "it speaks of another checkpoint than its key");
  }
  if (!read.homes.some(({ bucket, prefix }) => bucket === store.access.bucket && prefix === store.prefix)) {
    throw refused(object, "its objects lie elsewhere");
  }
  if (isAdopted(read)) {
    checkForeign(store.prefix, read, object);
    return read;
  }
  const attempts = read.joined?.pieces.map((piece) => piece.attempt) ?? [attempt];
  const own = attempts.map((one) => attemptPrefix(store.prefix, { run, epoch, attempt: one }));
  for (const file of read.files) {
    for (const { key } of file.extents) {
      parseDataKey(store.prefix, key);
      if (!own.some((prefix) => key.startsWith(prefix)))
        throw refused(object, `it names ${key}, which belongs to another attempt`);
    }
  }
  return read;
}

/** Groups the files of a manifest by the attempt that wrote them; a joined manifest has one attempt per piece. */
function byAttempt({ run, writerEpoch: epoch, attempt, joined, files }: Manifest, prefix: string) {
  if (joined === undefined) return [{ attempt, files }];
  const all = [...files, ...joined.pieces.flatMap(({ own }) => own ?? [])];
  return joined.pieces.map((piece) => {
    const own = attemptPrefix(prefix, { run, epoch, attempt: piece.attempt });
    const isOwn = ({ extents }: Manifest["files"][number]) => extents.some(({ key }) => key.startsWith(own));
    return { attempt: piece.attempt, files: all.filter(isOwn) };
  });
}

/** Links pieces with their joined checkpoint, whichever was read first. */
async function noteJoined(tx: Transaction, { id, run, writerEpoch, step, joined, piece }: Manifest): Promise<void> {
  const ids = joined?.pieces.map(({ checkpointId }) => checkpointId) ?? [];
  const isPiece = { id: { in: ids }, state: "complete" };
  if (ids.length > 0) await tx.checkpoint.updateMany({ where: isPiece, data: { state: "joined", joinedId: id } });
  if (piece === undefined) return;
  const wholes = await tx.checkpoint.findMany({
    where: { run, writerEpoch, step: BigInt(step), piece: { contains: '"nodes"' } },
    select: { id: true, content: { select: { manifest: true } } },
  });
  for (const { id: wholeId, content } of wholes) {
    // Only the manifest of a checkpoint that was joined from it contains this id.
    if (content?.manifest?.includes(`"${id}"`) !== true) continue;
    await tx.checkpoint.update({ where: { id }, data: { state: "joined", joinedId: wholeId } });
  }
}

/** Checks that an external checkpoint names only objects at its place, and none of Tidemark's own. @throws Fault BAD_INPUT */
function checkForeign(prefix: string, { origin, files }: AdoptedManifest, object: HistoryObject): void {
  for (const { key } of files.flatMap(({ extents }) => extents)) {
    const isInside = origin.kind === "file" ? key === origin.place : key.startsWith(origin.place);
    if (!isInside || isOwnKey(prefix, key)) throw refused(object, `it names ${key}, which is not of its place`);
  }
}

async function recordForeign(
  tx: Transaction,
  { store, now }: HistoryScope,
  { object, read }: { object: HistoryObject; read: AdoptedManifest },
): Promise<boolean> {
  const { profileId } = store;
  const { place } = read.origin;
  if ((await tx.checkpoint.count({ where: { id: read.id } })) > 0) return false;
  if ((await tx.adoption.count({ where: { profileId, place } })) > 0) return false;
  const { key, text } = object;
  const columns = await fileColumnsOf(read, text);
  await recordAdoption(tx, { manifest: read, text, columns, key, sha256: hashOf(text), store, now, by: "" });
  return true;
}

/** Records a copy of a checkpoint in another home; a copy that is recorded as complete stays. @throws Fault BAD_INPUT */
async function recordCopy(
  tx: Transaction,
  about: { store: HistoryScope["store"]; known: Checkpoint; object: HistoryObject; read: Manifest },
): Promise<boolean> {
  const { store, known, object, read } = about;
  const { profileId, prefix } = store;
  const where = { checkpointId_profileId: { checkpointId: known.id, profileId } };
  const before = await tx.checkpointCopy.findUnique({ where, omit: WITHOUT_MANIFEST });
  if (before?.state === "complete") return false;
  const content = await tx.checkpointContent.findUnique({ where: { checkpointId: known.id } });
  const committed = content?.manifest == null ? null : storedManifest.parse(JSON.parse(content.manifest));
  if (committed === null || isAdopted(committed) || !sameContent(read, committed)) {
    throw refused(object, "it says something else than the manifest of that checkpoint in another bucket");
  }
  const { run, attempt, writerEpoch } = read;
  const committedAt = new Date(object.modifiedAt);
  await tx.attempt.upsert({
    where: { run_attempt: { run, attempt } },
    update: {},
    create: { run, attempt, writerEpoch, nodeId: known.nodeId, announcedAt: committedAt },
  });
  const data = {
    run,
    bucket: store.access.bucket,
    prefix,
    state: "complete",
    attempt,
    nodeId: known.nodeId,
    startedAt: committedAt,
    committedAt,
    manifestKey: object.key,
    manifestSha256: hashOf(object.text),
    manifest: object.text,
  };
  await tx.checkpointCopy.upsert({ where, update: data, create: { checkpointId: known.id, profileId, ...data } });
  return true;
}

async function recordManifest(
  tx: Transaction,
  { store, run, now }: HistoryScope,
  { object, read }: { object: HistoryObject; read: Manifest },
): Promise<boolean> {
  const { id, attempt, writerEpoch, parent, node } = read;
  const known = await tx.checkpoint.findUnique({ where: { id } });
  // The recorded manifest wins over others of the checkpoint; a checkpoint in the trash stays there.
  if (known !== null && (known.state === "complete" || known.state === "trashed" || known.state === "joined")) {
    return known.profileId === store.profileId ? false : recordCopy(tx, { store, known, object, read });
  }
  if (known !== null && known.run !== run) throw refused(object, "its checkpoint belongs to another run");
  const holder = await tx.checkpoint.findUnique({ where: { run_attempt: { run, attempt } }, select: { id: true } });
  if (holder !== null && holder.id !== id) throw refused(object, "its attempt belongs to another checkpoint");
  await ensureNode(tx, node, { profileId: store.profileId, now });
  const committedAt = new Date(object.modifiedAt);
  // Restores a lost claim: the manifest was accepted from the writer of this epoch.
  await tx.epoch.upsert({
    where: { run_epoch: { run, epoch: writerEpoch } },
    update: {},
    create: {
      run,
      epoch: writerEpoch,
      parentEpoch: parent?.epoch ?? null,
      parentStep: parent === null ? null : BigInt(parent.step),
      nodeId: node.id,
      claimedAt: committedAt,
      branch: read.branch === undefined ? null : JSON.stringify(read.branch),
    },
  });
  await tx.attempt.upsert({
    where: { run_attempt: { run, attempt } },
    update: {},
    create: { run, attempt, writerEpoch, nodeId: node.id, announcedAt: committedAt },
  });
  const data = {
    run,
    step: BigInt(read.step),
    writerEpoch,
    attempt,
    nodeId: node.id,
    profileId: store.profileId,
    bucket: store.access.bucket,
    prefix: store.prefix,
    state: "complete",
    framework: read.framework,
    role: read.role ?? null,
    place: placeToStore(read.place),
    doubt: read.doubt ?? null,
    piece: pieceToStore(read),
    metrics: JSON.stringify(read.metrics),
    fileCount: read.files.length,
    sizeBytes: BigInt(read.sizeBytes),
    capturedAt: new Date(read.capturedAt),
    announcedAt: committedAt,
    committedAt,
    manifestKey: object.key,
    manifestSha256: hashOf(object.text),
    sealKeyId: isSealed(read) ? read.transform.keyId : null,
    ...weighObjects(read.files, object.text),
  };
  await tx.checkpoint.upsert({ where: { id }, update: data, create: { id, ...data } });
  const files = JSON.stringify(read.files.map(({ path, sizeBytes }) => ({ path, sizeBytes })));
  const content = { files, manifest: object.text };
  await tx.checkpointContent.upsert({
    where: { checkpointId: id },
    update: content,
    create: { checkpointId: id, ...content },
  });
  await noteJoined(tx, read);
  return true;
}

export const MANIFESTS: HistoryKind = {
  folder: "manifests",
  mostBytes: 64 * 1024 * 1024,
  epochOf: (name) => {
    const match = /^e(\d{6})\/s\d{12}-[^/]+\.json$/.exec(name);
    return match === null ? null : Number(match[1]);
  },
  isKnown: async ({ db, run, store }, key) =>
    (await db.checkpoint.count({
      where: { run, profileId: store.profileId, manifestKey: key, state: { in: ["complete", "trashed", "joined"] } },
    })) > 0 ||
    (await db.checkpointCopy.count({
      where: { run, profileId: store.profileId, manifestKey: key, state: "complete" },
    })) > 0,
  take: async (scope, object) => {
    const read = readManifest(scope, object);
    const { store } = scope;
    const place = { bucket: store.access.bucket, prefix: store.prefix };
    if (isAdopted(read)) {
      await compareObjects(store, read, { bucket: store.access.bucket, prefixes: [read.origin.place] });
      return scope.db.$transaction((tx) => recordForeign(tx, scope, { object, read }));
    }
    for (const { attempt, files } of byAttempt(read, store.prefix))
      await checkObjects(
        store,
        { ...read, files },
        { ...place, run: read.run, writerEpoch: read.writerEpoch, attempt },
      );
    return scope.db.$transaction((tx) => recordManifest(tx, scope, { object, read }));
  },
  countMissing: async ({ db, store, run, now }, keys) => {
    const where = {
      run,
      profileId: store.profileId,
      state: "complete",
      prefix: store.prefix,
      // A checkpoint that was committed after the listing began is not in it.
      committedAt: { lte: new Date(now) },
    };
    const rows = [
      ...(await db.checkpoint.findMany({ where, select: { manifestKey: true } })),
      ...(await db.checkpointCopy.findMany({
        where: { ...where, checkpoint: { state: "complete" } },
        select: { manifestKey: true },
      })),
    ];
    return rows.filter(({ manifestKey: key }) => key !== null && !keys.has(key)).length;
  },
};
