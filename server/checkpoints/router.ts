import { byId, byRun } from "#protocol/requests.ts";
import { keepProcedures } from "../keeping/router.ts";
import { verifyInput } from "#protocol/verifying.ts";
import { operator, router, viewer } from "../trpc.ts";
import { verifyCheckpoint } from "../verifying/verify.ts";
import { getCheckpoint } from "./get.ts";
import { getRun, listRuns } from "./runs.ts";

export const runsRouter = router({
  list: viewer.query(({ ctx }) => listRuns(ctx.hub)),
  get: viewer.input(byRun).query(({ ctx, input }) => getRun(ctx.hub, input.run)),
});

export const checkpointsRouter = router({
  get: viewer.input(byId).query(({ ctx, input }) => getCheckpoint(ctx.hub, input.id)),
  ...keepProcedures,
  verify: operator.input(verifyInput).mutation(({ ctx, input }) => verifyCheckpoint(ctx, input)),
});
