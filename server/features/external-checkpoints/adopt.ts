import { stepText } from "#protocol/checkpoint/step-words.ts";
import type * as z from "zod";
import {
  ADOPTED_EPOCH,
  type AdoptAnswer,
  type adoptInput,
  type AdoptedManifest,
} from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { attemptId } from "#protocol/base/names.ts";
import { unreadableWords } from "#protocol/checkpoint/unreadable-names.ts";
import { writeManifest } from "#server/core/checkpoints/manifest/write-manifest.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import { hashOf, newId } from "#server/platform/random-id.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { openDoubt } from "#server/core/retention/may-delete.ts";
import { assertReadable } from "#server/core/checkpoints/external/assert-readable.ts";
import { findObjects } from "./find-objects.ts";
import { judgePlace } from "./judge-place.ts";
import { makeManifest } from "./make-manifest.ts";
import { fileColumnsOf, recordAdoption } from "#server/core/checkpoints/external/record-adoption.ts";

/**
 * Registers what another tool left in a bucket as a checkpoint that can be restored. Lists and judges the objects again; they
 * stay where they are. Writes only a manifest that pins each object to its ETag. The same place again yields the same
 * checkpoint.
 * @throws Fault NOT_FOUND, NO_SUCH_KEY, BAD_INPUT, CONFLICT, CHECKPOINT_INCOMPLETE, OBJECT_ARCHIVED, CANCELLED, those of the
 * store
 */
export async function adopt(
  context: Context & { signal: AbortSignal },
  input: z.infer<typeof adoptInput>,
): Promise<AdoptAnswer> {
  const { hub, signal } = context;
  const { profileId, place, kind, run, step } = input;
  if (kind === "folder" && place !== "" && !place.endsWith("/"))
    throw new Fault("BAD_INPUT", { op: "adopt", subject: place, detail: "a folder's place ends with '/'" });
  const store = await hub.stores.open(profileId);
  return hub.locks.run(`adopt ${profileId}`, async () => {
    const known = await knownAdoption(hub, input);
    if (known !== null) return { checkpointId: known };
    const { objects, unreadable } = await findObjects(hub, { store, place, kind, signal });
    const judged = await judgePlace(hub, { store, place, objects, signal });
    if (unreadable.count > 0) judged.reason += `; left out: ${unreadableWords(unreadable.first, unreadable.count)}`;
    if (judged.verdict === "incomplete")
      throw new Fault("CHECKPOINT_INCOMPLETE", { op: "adopt", subject: place, detail: judged.reason });
    if (judged.verdict !== input.verdict)
      throw new Fault("CONFLICT", {
        op: "adopt",
        subject: place,
        detail: `it is ${judged.verdict} now: ${judged.reason}`,
      });
    await assertReadable(store, { objects, signal });
    const id = newId();
    const attempt = attemptId.parse(newId().replaceAll("-", "").slice(0, 20));
    const made = await makeManifest({ input, store, objects, judged, id, attempt, now: hub.now() });
    await record(context, { store, ...made });
    const subject = `${store.access.bucket}/${place} as ${stepText(step)} of ${run}`;
    await audit(hub, context.caller, { action: "adopt checkpoint", subject, subjectId: id });
    return { checkpointId: id };
  });
}

/** Returns the id of the checkpoint that this place is already. @throws Fault CONFLICT when the place or its step is another one */
async function knownAdoption(hub: Hub, { profileId, place, run, step }: z.infer<typeof adoptInput>) {
  const runRow = await hub.db.run.findUnique({ where: { name: run }, include: { profile: true } });
  if (runRow !== null && runRow.profileId !== profileId)
    throw new Fault("CONFLICT", {
      op: "adopt",
      subject: run,
      detail: `the run lives in ${runRow.profile.name}; give this one another name`,
    });
  const known = await hub.db.adoption.findUnique({
    where: { profileId_place: { profileId, place } },
    include: { checkpoint: { select: { run: true, step: true } } },
  });
  if (known !== null) {
    const { checkpoint } = known;
    if (checkpoint.run === run && Number(checkpoint.step) === step) return known.checkpointId;
    const detail = `it is ${stepText(checkpoint.step)} of ${checkpoint.run} already`;
    throw new Fault("CONFLICT", { op: "adopt", subject: place, detail });
  }
  const twin = await hub.db.adoption.findFirst({
    where: { checkpoint: { run, step: BigInt(step), writerEpoch: ADOPTED_EPOCH } },
  });
  if (twin !== null) {
    const detail = `${stepText(step)} of ${run} was adopted from ${twin.place}`;
    throw new Fault("CONFLICT", { op: "adopt", subject: place, detail });
  }
  return null;
}

async function record(
  { hub, caller }: Context,
  { store, manifest, text }: { store: OpenStore; manifest: AdoptedManifest; text: string },
): Promise<void> {
  const { run } = manifest;
  const key = await writeManifest(store, manifest, { bucket: store.access.bucket, prefix: store.prefix, text });
  const now = hub.now();
  const doubt = await openDoubt(hub);
  const highestSeen = doubt !== null && doubt.listedAt === null ? null : 0;
  const by = caller.kind === "person" || caller.kind === "token" ? caller.person.email : "";
  const columns = await fileColumnsOf(manifest, text);
  await hub.db.$transaction(async (tx) => {
    await tx.run.upsert({
      where: { name: run },
      update: {},
      create: { name: run, profileId: store.profileId, createdAt: new Date(now), highestSeen },
    });
    await recordAdoption(tx, { manifest, text, columns, key, sha256: hashOf(text), store, now, by });
  });
  hub.live.totals = { ...hub.live.totals, checkpointsComplete: hub.live.totals.checkpointsComplete + 1 };
  emit(hub, null, ["runs", "checkpoints", "profiles"]);
}
