import { inviteInput, setRoleInput } from "#protocol/fleet/people.ts";
import { byId } from "#protocol/wire/requests.ts";
import { admin, adminHere, router } from "#server/core/api/trpc.ts";
import { disableUser, enableUser, listUsers, removeUser, setRole } from "./accounts.ts";
import { invite, listCodes, makeReset, revokeCode } from "./make-code.ts";

/** What opens a way into the hub is done by a person at a browser; what shuts one, a program may do too. */
export const usersRouter = router({
  list: admin.query(({ ctx }) => listUsers(ctx.hub)),
  setRole: adminHere.input(setRoleInput).mutation(({ ctx, input }) => setRole(ctx, input)),
  disable: admin.input(byId).mutation(({ ctx, input }) => disableUser(ctx, input)),
  enable: adminHere.input(byId).mutation(({ ctx, input }) => enableUser(ctx, input)),
  remove: admin.input(byId).mutation(({ ctx, input }) => removeUser(ctx, input)),
  resetPassword: adminHere.input(byId).mutation(({ ctx, input }) => makeReset(ctx, input)),
});

/** Links that were made: invitations, and resets of passwords. */
export const invitationsRouter = router({
  list: admin.query(({ ctx }) => listCodes(ctx.hub)),
  create: adminHere.input(inviteInput).mutation(({ ctx, input }) => invite(ctx, input)),
  revoke: admin.input(byId).mutation(({ ctx, input }) => revokeCode(ctx, input)),
});
