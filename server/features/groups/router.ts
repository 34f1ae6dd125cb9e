import {
  actInput,
  createAccountInput,
  listGroupsInput,
  removeRuleInput,
  setRuleInput,
  updateAccountInput,
} from "#protocol/groups/groups.ts";
import { importRulesInput } from "#protocol/groups/kelpie-rules.ts";
import { byId } from "#protocol/wire/requests.ts";
import { admin, operator, router, viewer } from "#server/core/api/trpc.ts";
import { createAccount, listAccounts, removeAccount, testAccount, updateAccount } from "./accounts.ts";
import { actOnInstances } from "./act-on-instances.ts";
import { importRules } from "./kelpie-rules.ts";
import { listGroups } from "./list-groups.ts";
import { removeRule, setRule } from "./rules.ts";

/** Keys are an admin's, as those of buckets and channels are; instances and rules are an operator's. */
export const groupsRouter = router({
  accounts: router({
    list: viewer.query(({ ctx }) => listAccounts(ctx.hub)),
    create: admin.input(createAccountInput).mutation(({ ctx, input }) => createAccount(ctx, input)),
    update: admin.input(updateAccountInput).mutation(({ ctx, input }) => updateAccount(ctx, input)),
    remove: admin.input(byId).mutation(({ ctx, input }) => removeAccount(ctx, input)),
    test: admin.input(byId).mutation(({ ctx, input }) => testAccount(ctx, input)),
  }),
  list: viewer.input(listGroupsInput).query(({ ctx, input }) => listGroups(ctx.hub, input)),
  act: operator.input(actInput).mutation(({ ctx, input }) => actOnInstances(ctx, input)),
  setRule: operator.input(setRuleInput).mutation(({ ctx, input }) => setRule(ctx, input)),
  importRules: operator.input(importRulesInput).mutation(({ ctx, input }) => importRules(ctx, input)),
  removeRule: operator.input(removeRuleInput).mutation(({ ctx, input }) => removeRule(ctx, input)),
});
