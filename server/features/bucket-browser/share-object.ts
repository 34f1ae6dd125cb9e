import type * as z from "zod";
import { MOST_SHARE_MS, type shareInput, type ShareLink } from "#protocol/buckets/bucket.ts";
import { archivedFault } from "#storage/answers/archived-fault.ts";
import { describeObject } from "#storage/s3/browse.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Signs a link with which anybody can read one object until it expires. The link cannot be revoked, so it is audited before it
 * is given out. It makes browsers save the object instead of showing it. The link itself is stored nowhere.
 * @throws Fault NOT_FOUND, NO_SUCH_KEY, OBJECT_ARCHIVED, OBJECT_BEING_RESTORED, HOSTILE_NAME for a key that no URL can carry, those of the store
 */
export async function shareObject(
  { hub, caller }: Context & { caller: PersonCaller },
  { profileId, key, lifetimeMs }: z.infer<typeof shareInput>,
  signal: AbortSignal,
): Promise<ShareLink> {
  const store = await hub.stores.open(profileId);
  const { bucket } = store.access;
  const { archive } = await describeObject(store.client, { bucket, key, withChecksums: "left out", signal });
  if (archive !== "readable") throw archivedFault("share object", [{ name: key, state: archive }]);
  const asked = { lifetimeMs: Math.min(lifetimeMs, MOST_SHARE_MS) };
  const [request] = await store.signForBrowser([{ op: "share", key }], asked);
  if (request === undefined) throw new Error("nothing was signed");
  const seconds = Math.round(asked.lifetimeMs / 1000);
  const subject = `${store.profileName}: ${key}`.slice(0, 960);
  await audit(hub, caller, { action: "share object", subject: `${subject} for ${seconds} s`, subjectId: profileId });
  const { profileName } = store;
  await hub.keyUses.note({ caller, profileId, profileName, action: "sign reads", times: 1 });
  return { url: request.url, expiresAt: request.expiresAt };
}
