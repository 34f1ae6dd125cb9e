import type * as z from "zod";
import { Fault } from "#protocol/fault.ts";
import type { updateProfileInput } from "#protocol/requests.ts";
import type { ProfileView } from "#protocol/profile-views.ts";
import { audit } from "../events/audit.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import { secretPlace } from "../keeper/secret-place.ts";
import type { Context } from "../trpc.ts";
import { refuseEndpoints, refuseTakenName } from "./create.ts";
import { aboutColumns, readProfile } from "./profile-view.ts";

/** Runs that have, or had, a home in a profile. */
const liesIn = (profileId: string) => ({
  OR: [
    { profileId },
    { homes: { some: { profileId } } },
    { checkpoints: { some: { OR: [{ profileId }, { copies: { some: { profileId } } }] } } },
  ],
});

const PLACE = ["provider", "endpoint", "region"] as const;

/**
 * Changes a profile. Bucket and prefix stay once runs lie there: their manifests name both. Nodes read the store anew.
 * @throws Fault NOT_FOUND, CONFLICT (changed in the meantime, or the name is taken), IN_USE, ENDPOINT_REFUSED
 */
export async function updateProfile(context: Context, input: z.infer<typeof updateProfileInput>): Promise<ProfileView> {
  const { hub } = context;
  const { id, version, profile, credential, about } = input;
  const before = await hub.db.profile.findUnique({ where: { id } });
  if (before === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  await refuseEndpoints(hub, profile);
  await refuseTakenName(hub, profile.name, id);
  const moves = before.bucket !== profile.bucket || before.prefix !== profile.prefix;
  const told = about === undefined ? {} : aboutColumns(about);
  // What was found out was found out of another store.
  const isElsewhere = moves || PLACE.some((name) => before[name] !== profile[name]);
  const sealed = credential === null ? null : await hub.keeper.seal({ place: secretPlace(id), credential });
  const at = new Date(hub.now());
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
        ...(isElsewhere && { found: null, lastTest: null }),
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
  hub.stores.forget(id);
  hub.live.profileChanged(id, profile.name);
  await audit(hub, context.caller, { action: "change profile", subject: profile.name, subjectId: id });
  emit(hub, event, ["profiles"]);
  return readProfile(hub, id);
}
