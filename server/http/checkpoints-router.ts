import { listCheckpointsInput, listFilesInput, searchCheckpointsInput } from "#protocol/wire/checkpoint-pages.ts";
import { runMetricsInput } from "#protocol/checkpoint/run-metrics.ts";
import { byId, byRun, handOverInput } from "#protocol/wire/requests.ts";
import { keepProcedures } from "../features/retention/router.ts";
import { verifyInput } from "#protocol/wire/verifying.ts";
import { verifyCheckpoint } from "../features/verification/verify.ts";
import { operator, router, viewer } from "../core/api/trpc.ts";
import { listFiles } from "../core/checkpoints/manifest/checkpoint-files.ts";
import { getCheckpoint } from "../core/checkpoints/get.ts";
import { handOver } from "../core/claims/hand-over.ts";
import { seeLines } from "../core/claims/see-lines.ts";
import { readLineage } from "../core/runs/lineage.ts";
import { listCheckpoints } from "../core/checkpoints/list-checkpoints.ts";
import { runMetrics } from "../core/checkpoints/run-metrics.ts";
import { getRun, listRuns } from "../core/checkpoints/runs.ts";
import { searchCheckpoints } from "../core/checkpoints/search.ts";
import { readTimeline } from "../core/runs/timeline.ts";

export const runsRouter = router({
  list: viewer.query(({ ctx }) => listRuns(ctx.hub)),
  get: viewer.input(byRun).query(({ ctx, input }) => getRun(ctx.hub, input.run)),
  timeline: viewer.input(byRun).query(({ ctx, input }) => readTimeline(ctx.hub, input.run)),
  metrics: viewer.input(runMetricsInput).query(({ ctx, input }) => runMetrics(ctx.hub, input)),
  handOver: operator.input(handOverInput).mutation(({ ctx, input }) => handOver(ctx, input)),
  seeLines: operator.input(byRun).mutation(({ ctx, input }) => seeLines(ctx, input)),
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
