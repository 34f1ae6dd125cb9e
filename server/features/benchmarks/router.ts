import { setBenchKeyInput } from "#protocol/benchmarks/bench-key.ts";
import { planBenchInput, startBenchInput } from "#protocol/benchmarks/plan-input.ts";
import { byId } from "#protocol/wire/requests.ts";
import { admin, operator, router, viewer } from "#server/core/api/trpc.ts";
import { listBenchKeys, removeBenchKey, setBenchKey } from "./bench-key.ts";
import { cancelBenchmark } from "./cancel.ts";
import { exportBenchInput, exportBenchmark } from "./export.ts";
import { previewBenchmark } from "./plan.ts";
import { benchCasesInput, getBenchmark, listBenchmarks, listCases } from "./read.ts";
import { startBenchmark } from "./start.ts";

/** Procedures of benchmarks, which compare engines on many nodes. */
export const benchmarksRouter = router({
  list: viewer.query(({ ctx }) => listBenchmarks(ctx.hub)),
  get: viewer.input(byId).query(({ ctx, input }) => getBenchmark(ctx.hub, input)),
  cases: viewer.input(benchCasesInput).query(({ ctx, input }) => listCases(ctx.hub, input)),
  export: viewer.input(exportBenchInput).query(({ ctx, input }) => exportBenchmark(ctx.hub, input)),
  keys: viewer.query(({ ctx }) => listBenchKeys(ctx.hub)),
  preview: operator.input(planBenchInput).query(({ ctx, input }) => previewBenchmark(ctx.hub, input)),
  start: operator.input(startBenchInput).mutation(({ ctx, input }) => startBenchmark(ctx, input)),
  cancel: operator.input(byId).mutation(({ ctx, input }) => cancelBenchmark(ctx, input)),
  setKey: admin.input(setBenchKeyInput).mutation(({ ctx, input }) => setBenchKey(ctx, input)),
  removeKey: admin.input(byId).mutation(({ ctx, input }) => removeBenchKey(ctx, input)),
});
