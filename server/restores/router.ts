import { createRestoreInput, planRestoreInput } from "#protocol/requests.ts";
import { operator, router, viewer } from "../trpc.ts";
import { createRestore } from "./create-restore.ts";
import { planRestore } from "./plan.ts";

export const restoresRouter = router({
  plan: viewer.input(planRestoreInput).query(({ ctx, input }) => planRestore(ctx.hub, input)),
  create: operator.input(createRestoreInput).mutation(({ ctx, input }) => createRestore(ctx, input)),
});
