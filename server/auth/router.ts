import { setupInput, signInInput } from "#protocol/requests.ts";
import { open, router, viewer } from "../trpc.ts";
import { setup } from "./setup.ts";
import { signIn } from "./sign-in.ts";
import { signOut } from "./sign-out.ts";
import { status } from "./status.ts";

export const authRouter = router({
  status: open.query(({ ctx }) => status(ctx)),
  setup: open.input(setupInput).mutation(({ ctx, input }) => setup(ctx, input)),
  signIn: open.input(signInInput).mutation(({ ctx, input }) => signIn(ctx, input)),
  signOut: viewer.mutation(({ ctx }) => signOut(ctx)),
});
