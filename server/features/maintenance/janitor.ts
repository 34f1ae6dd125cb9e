import { toFault } from "#protocol/faults/fault.ts";
import type { JanitorReport } from "#protocol/wire/upkeep.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { keptVersionsClause } from "#protocol/base/kept-versions.ts";
import { keepsVersions } from "#storage/s3/delete-many.ts";
import { listObjects, listUploads } from "#storage/s3/listing.ts";
import { abortUpload, deleteObject, uploadedBytes } from "#storage/s3/objects.ts";
import type { Database } from "#prisma/open.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import {
  dataKeyUnder,
  findOrphans,
  foreignPrefixes,
  isHeld,
  type AttemptAt,
  type FoundOrphans,
} from "#server/core/retention/find-orphans.ts";
import { OLD_ENOUGH_MS } from "#storage/manifest/classify-orphan.ts";
import { mayDelete, requireMayDelete } from "#server/core/retention/may-delete.ts";

/**
 * Removes leftovers: parts and objects of uploads that will never be finished, and objects of probes. Lists first, and removes
 * only when asked to. Before each attempt it checks again that deletions are allowed and that nothing needs the attempt. Each
 * object is checked again before its deletion.
 */

/** Deletions in flight. */
const AT_A_TIME = 8;
/** Most uploads whose size is queried, which takes a request each. */
const MOST_SIZED = 1_000;

type JanitorHub = Pick<Hub, "db" | "stores" | "now" | "live">;

async function inParallel<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += AT_A_TIME) {
    const ended = await Promise.allSettled(items.slice(from, from + AT_A_TIME).map(run));
    for (const one of ended) if (one.status === "rejected") throw one.reason;
  }
}

interface Removal {
  hub: JanitorHub;
  store: OpenStore;
  foreign: readonly string[];
  removed: JanitorReport["removed"];
}

async function removeAttempt({ hub, store, foreign, removed }: Removal, at: AttemptAt, prefix: string): Promise<void> {
  await requireMayDelete(hub);
  if (await isHeld(hub.db, at)) return;
  const { bucket } = store.access;
  let batch: { key: string; sizeBytes: number }[] = [];
  const flush = async () => {
    await inParallel(batch, async ({ key, sizeBytes }) => {
      await deleteObject(store.client, { bucket, key });
      removed.count++;
      removed.bytes += sizeBytes;
    });
    batch = [];
  };
  for await (const { key, sizeBytes, modifiedAt } of listObjects(store.client, { bucket, prefix })) {
    const isOld = hub.now() - modifiedAt > OLD_ENOUGH_MS;
    if (!isOld || dataKeyUnder(store, foreign, key) === null) continue;
    batch.push({ key, sizeBytes });
    if (batch.length >= 1_000) await flush();
  }
  await flush();
}

/** Returns whether an upload is still listed. A store may report it as unknown and keep its parts anyway. */
async function isListed(store: OpenStore, upload: { key: string; uploadId: string }): Promise<boolean> {
  // Some stores accept only folders as the prefix of a listing of uploads.
  const prefix = upload.key.slice(0, upload.key.lastIndexOf("/") + 1);
  for await (const { key, uploadId } of listUploads(store.client, { bucket: store.access.bucket, prefix }))
    if (key === upload.key && uploadId === upload.uploadId) return true;
  return false;
}

async function removeAll(removal: Removal, found: FoundOrphans): Promise<void> {
  const { hub, store, removed } = removal;
  const { bucket } = store.access;
  for (const { at, prefix } of found.attempts) await removeAttempt(removal, at, prefix);
  await requireMayDelete(hub);
  await inParallel(found.uploads, async ({ key, uploadId }) => {
    const outcome = await abortUpload(store.client, { bucket, key, uploadId });
    if (outcome === "aborted" || !(await isListed(store, { key, uploadId }))) removed.count++;
  });
  await inParallel(found.probes, async ({ key }) => {
    await deleteObject(store.client, { bucket, key });
    removed.count++;
  });
  removed.bytes += found.uploadsSum.bytes + found.probesSum.bytes;
}

async function sizeUploads(store: OpenStore, found: FoundOrphans): Promise<void> {
  const { bucket } = store.access;
  await inParallel(found.uploads.slice(0, MOST_SIZED), async ({ key, uploadId }) => {
    found.uploadsSum.bytes += await uploadedBytes(store.client, { bucket, key, uploadId });
  });
}

/** Returns the clause that says that the bytes of removed objects are not freed; empty where they are. */
export const removedClause = ({ removed, objects, probes, keepsVersions: keeps }: JanitorReport): string =>
  // Parts of unfinished uploads are never kept as versions.
  removed.count === 0 || objects.count + probes.count === 0 ? "" : keptVersionsClause(keeps ?? null);

const sentenceOf = (report: JanitorReport): string => {
  const { objects, uploads, probes, removed, mode, profileName } = report;
  const count = objects.count + uploads.count + probes.count;
  const bytes = objects.bytes + uploads.bytes + probes.bytes;
  return mode === "delete"
    ? `Removed ${removed.count} leftovers (${formatBytes(removed.bytes)}) from ${profileName}${removedClause(report)}`
    : `Found ${count} leftovers (${formatBytes(bytes)}) in ${profileName} that nobody needs`;
};

/**
 * Lists the leftovers of one profile, and with `delete` removes them. Stores the result with an event and an audit entry. A
 * fault during removal is in the report; one during listing is thrown.
 * @throws Fault DELETIONS_OFF, NOT_FOUND, those of the store
 */
export async function lookAtProfile(
  hub: JanitorHub,
  profileId: string,
  options: { mode: "report" | "delete"; by: string },
): Promise<JanitorReport> {
  const { mode, by } = options;
  const startedAt = hub.now();
  const began = performance.now();
  if (mode === "delete") await requireMayDelete(hub);
  const store = await hub.stores.open(profileId);
  const found = await findOrphans(hub, store);
  await sizeUploads(store, found);
  const report: JanitorReport = {
    profileId,
    profileName: store.profileName,
    mode,
    at: startedAt,
    tookMs: 0,
    objects: found.objects,
    uploads: found.uploadsSum,
    probes: found.probesSum,
    removed: { count: 0, bytes: 0 },
    keepsVersions: null,
    kept: found.kept,
    fault: null,
  };
  if (mode === "delete") {
    const foreign = await foreignPrefixes(hub.db, store);
    report.keepsVersions = await keepsVersions(store.client, store.access.bucket);
    try {
      await removeAll({ hub, store, foreign, removed: report.removed }, found);
    } catch (error) {
      report.fault = toFault(error, { op: "janitor" }).toData();
    }
  }
  report.tookMs = Math.round(performance.now() - began);
  await keep(hub, report, by);
  return report;
}

async function keep(hub: JanitorHub, report: JanitorReport, by: string): Promise<void> {
  const now = new Date(hub.now());
  const count = report.objects.count + report.uploads.count + report.probes.count;
  const event = await hub.db.$transaction(async (tx) => {
    await tx.upkeepRun.create({
      data: {
        kind: "janitor",
        profileId: report.profileId,
        startedAt: new Date(report.at),
        endedAt: now,
        fault: report.fault === null ? null : JSON.stringify(report.fault),
        result: JSON.stringify(report),
      },
    });
    const subject = `${report.profileName}: ${report.removed.count} of ${count}${removedClause(report)}`;
    await tx.audit.create({ data: { at: now, actor: by, action: `janitor ${report.mode}`, subject } });
    if (count === 0) return null;
    const line = { at: now.getTime(), kind: "upkeep" as const, work: "safe" as const, text: sentenceOf(report) };
    return recordEvent(tx, { ...line, fault: report.fault });
  });
  emit(hub, event);
}

/** Runs the janitor on every profile, one after the other. @throws the first fault, after all were tried */
export async function runJanitor(
  hub: JanitorHub,
  options: { mode: "report" | "delete"; by: string },
): Promise<JanitorReport[]> {
  if (options.mode === "delete") await requireMayDelete(hub);
  const profiles = await hub.db.profile.findMany({ select: { id: true }, orderBy: { name: "asc" } });
  const reports: JanitorReport[] = [];
  const faults: unknown[] = [];
  for (const { id } of profiles) {
    try {
      reports.push(await lookAtProfile(hub, id, options));
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
  return reports;
}

/** Returns the mode of a scheduled run: `report` while deletions are off. */
export const scheduledMode = async (hub: { db: Database }, mode: "report" | "delete"): Promise<"report" | "delete"> =>
  mode === "delete" && (await mayDelete(hub)) ? "delete" : "report";
