import { changePasswordInput, takeCodeInput } from "#protocol/fleet/people.ts";
import { setupInput, signInInput } from "#protocol/wire/requests.ts";
import { open, router, viewerHere } from "#server/core/api/trpc.ts";
import { acceptInvitation } from "../users/accept-invitation.ts";
import { resetPassword } from "../users/reset-password.ts";
import { changePassword } from "./change-password.ts";
import { setup } from "./setup.ts";
import { signIn } from "./sign-in.ts";
import { signOut } from "./sign-out.ts";
import { status } from "./status.ts";

export const authRouter = router({
  status: open.query(({ ctx }) => status(ctx)),
  setup: open.input(setupInput).mutation(({ ctx, input }) => setup(ctx, input)),
  signIn: open.input(signInInput).mutation(({ ctx, input }) => signIn(ctx, input)),
  signOut: viewerHere.mutation(({ ctx }) => signOut(ctx)),
  acceptInvitation: open.input(takeCodeInput).mutation(({ ctx, input }) => acceptInvitation(ctx, input)),
  resetPassword: open.input(takeCodeInput).mutation(({ ctx, input }) => resetPassword(ctx, input)),
  changePassword: viewerHere.input(changePasswordInput).mutation(({ ctx, input }) => changePassword(ctx, input)),
});
