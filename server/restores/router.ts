import { createRestoreInput, planRestoreInput } from "#protocol/requests.ts";
import type { RestorePlan } from "#protocol/views.ts";
import { operator, router, viewer } from "../trpc.ts";
import { soon } from "../soon.ts";

export const restoresRouter = router({
  plan: viewer.input(planRestoreInput).query(() => soon<RestorePlan>()),
  create: operator.input(createRestoreInput).mutation(() => soon<{ transferId: string }>()),
});
