import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { createProfileInput, KeyBy, ProfileDraft } from "#protocol/wire/requests.ts";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import { audit } from "../api/audit.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import type { Context } from "../api/trpc.ts";
import { keyOf } from "./key-of.ts";
import { aboutColumns, readProfile } from "./profile-view.ts";
import { refuseEndpoint } from "#server/platform/reach.ts";
import { keyByColumn, serviceOf } from "./session-keys.ts";
import { testedColumns } from "./tested-drafts.ts";

/** Checks every endpoint of a draft that the hub, a worker or a page will connect to. @throws Fault ENDPOINT_REFUSED */
export async function refuseEndpoints(hub: Hub, profile: ProfileDraft, keyBy: KeyBy | null): Promise<void> {
  const service = keyBy === null ? null : serviceOf(keyBy);
  for (const endpoint of [profile.endpoint, profile.workerEndpoint, profile.browserEndpoint, service]) {
    if (endpoint !== null) await refuseEndpoint(endpoint, hub.reach);
  }
}

/** Checks that no other profile has the name. @throws Fault CONFLICT when another profile has it */
export async function refuseTakenName(hub: Hub, name: string, exceptId: string | null): Promise<void> {
  const taken = await hub.db.profile.findUnique({ where: { name } });
  if (taken === null || taken.id === exceptId) return;
  throw new Fault("CONFLICT", { subject: name, detail: "another bucket profile has this name" });
}

/**
 * Stores a profile. The signing process seals its key, and only the sealed text is written. @throws Fault ENDPOINT_REFUSED,
 * CONFLICT (name), NOT_FOUND (a pasted key that is no longer kept)
 */
export async function createProfile(context: Context, input: z.infer<typeof createProfileInput>): Promise<ProfileView> {
  const { hub } = context;
  const { profile, credential, about, keyBy = null } = input;
  await refuseEndpoints(hub, profile, keyBy);
  await refuseTakenName(hub, profile.name, null);
  const { rowId: id, accessKeyHint, ...sealed } = await keyOf(context, credential);
  const at = new Date(hub.now());
  const told = about === undefined ? {} : aboutColumns(about);
  const event = await hub.db.$transaction(async (tx) => {
    await tx.profile.create({
      data: {
        id,
        version: 1,
        ...profile,
        ...told,
        accessKeyHint,
        keyBy: keyByColumn(keyBy),
        createdAt: at,
        updatedAt: at,
        lastTest: null,
        ...testedColumns(hub, { id: null, profile, credential, keyBy }),
      },
    });
    await tx.profileSecret.create({ data: { profileId: id, ...sealed, updatedAt: at } });
    const text = `The bucket profile ${profile.name} was added`;
    return recordEvent(tx, { at: hub.now(), kind: "profile-changed", work: "safe", text });
  });
  if ("handle" in credential) hub.imports.spend(credential);
  await audit(hub, context.caller, { action: "create profile", subject: profile.name, subjectId: id });
  hub.live.profileSaved();
  emit(hub, event, ["profiles"]);
  return readProfile(hub, id);
}
