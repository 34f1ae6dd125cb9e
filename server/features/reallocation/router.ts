import { setThresholdsInput, startsInput } from "#protocol/links/thresholds.ts";
import { operator, router, viewer } from "#server/core/api/trpc.ts";
import { readThresholds, setThresholds } from "./link-policy.ts";
import { readStarts } from "./read-starts.ts";

export const thresholdsRouter = router({
  get: viewer.query(({ ctx }) => readThresholds(ctx.hub)),
  set: operator.input(setThresholdsInput).mutation(({ ctx, input }) => setThresholds(ctx, input)),
  starts: viewer.input(startsInput).query(({ ctx, input }) => readStarts(ctx.hub, input)),
});
