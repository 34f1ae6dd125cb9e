import { listCheckpointsInput, listFilesInput, searchCheckpointsInput } from "#protocol/wire/checkpoint-pages.ts";
import { runMetricsInput } from "#protocol/checkpoint/run-metrics.ts";
import { byId, byRun, handOverInput } from "#protocol/wire/requests.ts";
import { keepProcedures } from "../keeping/router.ts";
import { verifyInput } from "#protocol/wire/verifying.ts";
import { verifyCheckpoint } from "../verifying/verify.ts";
import { operator, router, viewer } from "../trpc.ts";
import { listFiles } from "./checkpoint-files.ts";
import { getCheckpoint } from "./get.ts";
import { handOver } from "./hand-over.ts";
import { readLineage } from "./lineage.ts";
import { listCheckpoints } from "./list-checkpoints.ts";
import { runMetrics } from "./run-metrics.ts";
import { getRun, listRuns } from "./runs.ts";
import { searchCheckpoints } from "./search.ts";
import { readTimeline } from "./timeline.ts";

export const runsRouter = router({
  list: viewer.query(({ ctx }) => listRuns(ctx.hub)),
  get: viewer.input(byRun).query(({ ctx, input }) => getRun(ctx.hub, input.run)),
  timeline: viewer.input(byRun).query(({ ctx, input }) => readTimeline(ctx.hub, input.run)),
  metrics: viewer.input(runMetricsInput).query(({ ctx, input }) => runMetrics(ctx.hub, input)),
  handOver: operator.input(handOverInput).mutation(({ ctx, input }) => handOver(ctx, input)),
  lineage: viewer.input(byRun).query(({ ctx, input }) => readLineage(ctx.hub, input.run)),
});

export const checkpointsRouter = router({
  get: viewer.input(byId).query(({ ctx, input }) => getCheckpoint(ctx.hub, input.id)),
  ...keepProcedures,
  verify: operator.input(verifyInput).mutation(({ ctx, input }) => verifyCheckpoint(ctx, input)),
  list: viewer.input(listCheckpointsInput).query(({ ctx, input }) => listCheckpoints(ctx.hub, input)),
  search: viewer.input(searchCheckpointsInput).query(({ ctx, input }) => searchCheckpoints(ctx.hub, input)),
  files: viewer.input(listFilesInput).query(({ ctx, input }) => listFiles(ctx.hub, input)),
});
