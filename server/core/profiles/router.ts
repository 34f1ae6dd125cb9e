import { byId, createProfileInput, testProfileInput, updateProfileInput } from "#protocol/wire/requests.ts";
import { readImportInput, writeCorsInput } from "#protocol/wire/profiles.ts";
import { presetViews } from "#storage/providers/providers.ts";
import { admin, router, viewer } from "../api/trpc.ts";
import { planProfileCors, writeProfileCors } from "./cors.ts";
import { createProfile } from "./create.ts";
import { listProfiles } from "./profile-view.ts";
import { readPastedText } from "./read-import.ts";
import { removeProfile } from "./remove.ts";
import { testProfile } from "./test-profile.ts";
import { updateProfile } from "./update.ts";

export const profilesRouter = router({
  list: viewer.query(({ ctx }) => listProfiles(ctx.hub, ctx.caller.person.role)),
  presets: viewer.query(() => presetViews()),
  create: admin.input(createProfileInput).mutation(({ ctx, input }) => createProfile(ctx, input)),
  update: admin.input(updateProfileInput).mutation(({ ctx, input }) => updateProfile(ctx, input)),
  test: admin.input(testProfileInput).mutation(({ ctx, input }) => testProfile(ctx, input)),
  corsPlan: admin.input(byId).mutation(({ ctx, input }) => planProfileCors(ctx, input)),
  writeCors: admin.input(writeCorsInput).mutation(({ ctx, input }) => writeProfileCors(ctx, input)),
  readImport: admin.input(readImportInput).mutation(({ ctx, input }) => readPastedText(ctx, input)),
  remove: admin.input(byId).mutation(({ ctx, input }) => removeProfile(ctx, input)),
});
