import { adoptInput } from "#protocol/checkpoint/adopted.ts";
import { byId } from "#protocol/wire/requests.ts";
import { operator, router } from "#server/core/api/trpc.ts";
import { adopt } from "./adopt.ts";
import { release } from "./release.ts";
import { takeRuns } from "./take-runs.ts";
import { forgetSums } from "./tell-sums.ts";

export const adoptionsRouter = router({
  adopt: operator
    .input(adoptInput)
    .mutation(({ ctx, input, signal }) => adopt({ ...ctx, signal: signal ?? ctx.hub.closing }, input)),
  takeRuns: operator.input(byId).mutation(({ ctx, input }) => takeRuns(ctx, input)),
  release: operator.input(byId).mutation(({ ctx, input }) => release(ctx, input)),
  forgetSums: operator.input(byId).mutation(({ ctx, input }) => forgetSums(ctx, input)),
});
