import { setupInput, signInInput } from "#protocol/requests.ts";
import type { HubStatus } from "#protocol/views.ts";
import { open, router, viewer } from "../trpc.ts";
import { soon } from "../soon.ts";

export const authRouter = router({
  status: open.query(() => soon<HubStatus>()),
  setup: open.input(setupInput).mutation(() => soon<HubStatus>()),
  signIn: open.input(signInInput).mutation(() => soon<HubStatus>()),
  signOut: viewer.mutation(() => soon<{ ok: true }>()),
});
