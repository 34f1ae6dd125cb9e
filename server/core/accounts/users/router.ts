import { inviteInput, setRoleInput } from "#protocol/fleet/people.ts";
import { byId } from "#protocol/wire/requests.ts";
import { admin, adminHere, router } from "#server/core/api/trpc.ts";
import { disableUser, enableUser, listUsers, removeUser, setRole } from "./accounts.ts";
import { invite, listCodes, makeReset, revokeCode } from "./make-code.ts";

/** Actions that grant access need a person at a browser; actions that take it away are open to programs too. */
export const usersRouter = router({
  list: admin.query(({ ctx }) => listUsers(ctx.hub)),
  setRole: adminHere.input(setRoleInput).mutation(({ ctx, input }) => setRole(ctx, input)),
  disable: admin.input(byId).mutation(({ ctx, input }) => disableUser(ctx, input)),
  enable: adminHere.input(byId).mutation(({ ctx, input }) => enableUser(ctx, input)),
  remove: admin.input(byId).mutation(({ ctx, input }) => removeUser(ctx, input)),
  resetPassword: adminHere.input(byId).mutation(({ ctx, input }) => makeReset(ctx, input)),
});

/** One-time links: invitations and password resets. */
export const invitationsRouter = router({
  list: admin.query(({ ctx }) => listCodes(ctx.hub)),
  create: adminHere.input(inviteInput).mutation(({ ctx, input }) => invite(ctx, input)),
  revoke: admin.input(byId).mutation(({ ctx, input }) => revokeCode(ctx, input)),
});
