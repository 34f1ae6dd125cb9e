import { storedManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { CredentialDraft, ProfileDraft } from "#protocol/wire/requests.ts";
import type { HistoryFound } from "#protocol/wire/upkeep.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import { secretPlace } from "#server/signer/secret-place.ts";
import { accessOf, createSealedClient } from "#server/core/profiles/open-store.ts";
import { lookupFor } from "#server/platform/reach.ts";
import { newId } from "#server/platform/random-id.ts";
import { recordEvent } from "#server/core/events/record-event.ts";
import { settleHistory } from "#server/core/record/settle-history.ts";
import type { Tools } from "./command-line/tools.ts";

/**
 * Rebuilds a lost database from a bucket: everything that was safe is recorded again from its immutable objects. Data that only
 * the database had is lost: accounts, join tokens, credentials of nodes, history. Nodes are recorded as gone and enroll again.
 * Epochs start well above the highest one seen, and nothing is deleted until a person confirms.
 */

const LOOKED_AT_FOR_ID = 20;
const MOST_MANIFEST_BYTES = 64 * 1024 * 1024;

export type RebuildOptions =
  /** A profile in the database, whose bucket is read again. */
  | { profileName: string }
  /** A profile that is not in the database. */
  | { profile: ProfileDraft; credential: CredentialDraft };

/** Returns the profile id in the manifests of this bucket, so that they stay valid; a new id where no manifest has one. */
async function findProfileId(tools: Tools, options: { profile: ProfileDraft; credential: CredentialDraft }) {
  const { profile, credential } = options;
  const rowId = newId();
  const { sealed } = await tools.signer.seal({ place: secretPlace(rowId), credential });
  const access = accessOf(profile, { side: "hub", found: null });
  const lookup = lookupFor(access.endpoint, tools.reach);
  const client = createSealedClient(tools.signer, { access, rowId, sealed: async () => sealed, lookup });
  try {
    let looked = 0;
    const { bucket, prefix } = profile;
    for await (const { key } of listObjects(client, { bucket, prefix: `${prefix}manifests/` })) {
      if (looked++ >= LOOKED_AT_FOR_ID) break;
      const id = await getObjectText(client, { bucket, key, maxBytes: MOST_MANIFEST_BYTES }).then(
        ({ text }) => idIn(text, { bucket, prefix }),
        (error: unknown) => {
          if (isFault(error) && (error.code === "TOO_LARGE" || error.code === "BAD_INPUT")) return null;
          throw error;
        },
      );
      if (id !== null && (await tools.db.profile.findUnique({ where: { id } })) === null) return id;
    }
    return rowId;
  } finally {
    client.destroy();
  }
}

function idIn(text: string, at: { bucket: string; prefix: string }): string | null {
  try {
    const { homes } = storedManifest.parse(JSON.parse(text));
    return homes.find(({ bucket, prefix }) => bucket === at.bucket && prefix === at.prefix)?.profileId ?? null;
  } catch {
    return null;
  }
}

async function addProfile(
  tools: Tools,
  options: { profile: ProfileDraft; credential: CredentialDraft },
): Promise<void> {
  const { profile, credential } = options;
  const id = await findProfileId(tools, options);
  const sealed = await tools.signer.seal({ place: secretPlace(id), credential });
  const now = tools.now();
  const at = new Date(now);
  const accessKeyHint = credential.accessKeyId.slice(-4);
  await tools.db.$transaction(async (tx) => {
    await tx.profile.create({
      data: { id, version: 1, ...profile, accessKeyHint, createdAt: at, updatedAt: at, lastTest: null },
    });
    await tx.profileSecret.create({ data: { profileId: id, ...sealed, updatedAt: at } });
    await doubtIt(tx, now);
    const text = `The record of ${profile.name} is rebuilt from its bucket`;
    await recordEvent(tx, { at: now, kind: "upkeep", work: "risk", text });
    await tx.audit.create({ data: { at, actor: "command line", action: "rebuild", subject: profile.name } });
  });
}

type Tx = Parameters<Parameters<Tools["db"]["$transaction"]>[0]>[0];

/** Marks the database as incomplete. A rebuild that was interrupted continues under its first mark. */
async function doubtIt(tx: Tx, now: number): Promise<void> {
  const open = await tx.doubt.findFirst({ where: { confirmedAt: null } });
  if (open === null) await tx.doubt.create({ data: { kind: "rebuilt", at: new Date(now) } });
  else await tx.doubt.update({ where: { id: open.id }, data: { listedAt: null } });
}

/**
 * Reads everything that a bucket knows into the database.
 * @throws Fault NOT_FOUND (no such profile), CONFLICT (a profile of that name is there), and those of the store: what was read
 * stays, and the same command goes on
 */
export async function rebuild(tools: Tools, options: RebuildOptions): Promise<HistoryFound> {
  if ("profile" in options) {
    const { name } = options.profile;
    if ((await tools.db.profile.findUnique({ where: { name } })) !== null) {
      const detail = `the database has this profile; \`hub rebuild --profile ${name}\` reads its bucket again`;
      throw new Fault("CONFLICT", { op: "rebuild", subject: name, detail });
    }
    await addProfile(tools, options);
  } else {
    const row = await tools.db.profile.findUnique({ where: { name: options.profileName } });
    if (row === null) throw new Fault("NOT_FOUND", { op: "rebuild", subject: options.profileName });
    await tools.db.$transaction(async (tx) => {
      await doubtIt(tx, tools.now());
      await tx.run.updateMany({ where: { profileId: row.id }, data: { highestSeen: null } });
    });
  }
  const found = await settleHistory(tools);
  if (found === null) throw new Fault("INTERNAL", { op: "rebuild" });
  return found;
}
