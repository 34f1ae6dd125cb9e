import { runJanitorInput } from "#protocol/wire/upkeep.ts";
import { admin, router, viewer } from "#server/core/api/trpc.ts";
import { confirmDeletions } from "./confirm-deletions.ts";
import { startJanitor } from "./start-janitor.ts";
import { upkeepStatus } from "./status.ts";

export const upkeepRouter = router({
  status: viewer.query(({ ctx }) => upkeepStatus(ctx.hub)),
  runJanitor: admin.input(runJanitorInput).mutation(({ ctx, input }) => startJanitor(ctx, input)),
  confirmDeletions: admin.mutation(({ ctx }) => confirmDeletions(ctx)),
});
