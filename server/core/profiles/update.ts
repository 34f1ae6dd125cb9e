import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { updateProfileInput } from "#protocol/wire/requests.ts";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import type { Profile } from "#prisma/client/client.ts";
import { audit } from "../api/audit.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import { secretPlace } from "#server/signer/secret-place.ts";
import type { Context } from "../api/trpc.ts";
import { leavePlace } from "./keep-marks.ts";
import { refuseEndpoints, refuseTakenName } from "./create.ts";
import { aboutColumns, readProfile } from "./profile-view.ts";
import { isSameService, keyByColumn } from "./session-keys.ts";
import { testedColumns } from "./tested-drafts.ts";

/** Returns the filter for runs that have, or had, a home in a profile. */
const liesIn = (profileId: string) => ({
  OR: [
    { profileId },
    { homes: { some: { profileId } } },
    { checkpoints: { some: { OR: [{ profileId }, { copies: { some: { profileId } } }] } } },
  ],
});

/**
 * Refuses another service for session keys unless the key is typed again. STS receives a request signed by the stored key,
 * and Cloudflare the secret itself. @throws Fault BAD_INPUT
 */
function refuseForeignService(
  before: Profile,
  { keyBy, credential }: Pick<z.infer<typeof updateProfileInput>, "keyBy" | "credential">,
): void {
  if (keyBy === undefined || keyBy === null || credential !== null || isSameService(before, keyBy)) return;
  const detail = "type the key again to use it at another service";
  throw new Fault("BAD_INPUT", { subject: "credential", detail });
}

const PLACE = ["provider", "endpoint", "region"] as const;

/**
 * Changes a profile. Bucket and prefix are fixed once runs lie there, because manifests name both. Nodes then load the store
 * anew. @throws Fault NOT_FOUND, CONFLICT (changed in the meantime, or the name is taken), IN_USE, ENDPOINT_REFUSED
 */
export async function updateProfile(context: Context, input: z.infer<typeof updateProfileInput>): Promise<ProfileView> {
  const { hub } = context;
  const { id, version, profile, credential, about, keyBy } = input;
  const before = await hub.db.profile.findUnique({ where: { id } });
  if (before === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  await refuseEndpoints(hub, profile, keyBy ?? null);
  await refuseTakenName(hub, profile.name, id);
  refuseForeignService(before, { keyBy, credential });
  const moves = before.bucket !== profile.bucket || before.prefix !== profile.prefix;
  const told = about === undefined ? {} : aboutColumns(about);
  // Earlier test results then belong to another store.
  const isElsewhere = moves || PLACE.some((name) => before[name] !== profile[name]);
  const sealed = credential === null ? null : await hub.signer.seal({ place: secretPlace(id), credential });
  const at = new Date(hub.now());
  const left = isElsewhere ? await hub.stores.open(id).catch(() => null) : null;
  const event = await hub.db.$transaction(async (tx) => {
    if (moves && (await tx.run.count({ where: liesIn(id) })) > 0) {
      const detail = "runs lie in its bucket and prefix; add another profile instead";
      throw new Fault("IN_USE", { subject: before.name, detail });
    }
    const hint = credential === null ? {} : { accessKeyHint: credential.accessKeyId.slice(-4) };
    const { count } = await tx.profile.updateMany({
      where: { id, version },
      data: {
        ...profile,
        ...hint,
        ...told,
        ...(keyBy === undefined ? {} : { keyBy: keyByColumn(keyBy) }),
        ...(isElsewhere && { found: null, lastTest: null }),
        ...testedColumns(hub, { id, profile, credential, keyBy: keyBy ?? null }),
        version: version + 1,
        updatedAt: at,
      },
    });
    if (count === 0) throw new Fault("CONFLICT", { subject: before.name });
    if (sealed !== null) {
      await tx.profileSecret.update({ where: { profileId: id }, data: { ...sealed, updatedAt: at } });
    }
    const text = `The bucket profile ${profile.name} was changed`;
    return recordEvent(tx, { at: hub.now(), kind: "profile-changed", work: "safe", text });
  });
  if (left !== null) await leavePlace(hub, left);
  hub.stores.forget(id);
  hub.live.profileSaved();
  hub.live.profileChanged(id, profile.name);
  await audit(hub, context.caller, { action: "change profile", subject: profile.name, subjectId: id });
  emit(hub, event, ["profiles"]);
  return readProfile(hub, id);
}
