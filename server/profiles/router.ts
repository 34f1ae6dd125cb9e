import { byId, createProfileInput, testProfileInput, updateProfileInput } from "#protocol/requests.ts";
import type { PresetView, ProfileTestView, ProfileView } from "#protocol/views.ts";
import { admin, router, viewer } from "../trpc.ts";
import { soon } from "../soon.ts";

export const profilesRouter = router({
  list: viewer.query(() => soon<ProfileView[]>()),
  presets: viewer.query(() => soon<PresetView[]>()),
  create: admin.input(createProfileInput).mutation(() => soon<ProfileView>()),
  update: admin.input(updateProfileInput).mutation(() => soon<ProfileView>()),
  test: admin.input(testProfileInput).mutation(() => soon<ProfileTestView>()),
  remove: admin.input(byId).mutation(() => soon<{ ok: true }>()),
});
