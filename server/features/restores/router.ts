import { createRestoreInput, planRestoreInput } from "#protocol/wire/requests.ts";
import { previewRestoreInput, setRestoreCapInput, startRestoresInput } from "#protocol/wire/restoring.ts";
import { operator, router, viewer } from "#server/core/api/trpc.ts";
import { createRestore } from "./create-restore.ts";
import { planRestore } from "./plan.ts";
import { previewRestore } from "./preview-restore.ts";
import { setRestoreCap } from "./set-cap.ts";
import { startRestores } from "./start-restores.ts";

export const restoresRouter = router({
  plan: viewer.input(planRestoreInput).query(({ ctx, input }) => planRestore(ctx.hub, input)),
  create: operator.input(createRestoreInput).mutation(({ ctx, input }) => createRestore(ctx, input)),
  start: operator.input(startRestoresInput).mutation(({ ctx, input }) => startRestores(ctx, input)),
  preview: operator.input(previewRestoreInput).mutation(({ ctx, input }) => previewRestore(ctx, input)),
  setCap: operator.input(setRestoreCapInput).mutation(({ ctx, input }) => setRestoreCap(ctx, input)),
});
