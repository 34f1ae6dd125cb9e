import { drillsInput, setDrillInput } from "#protocol/wire/verifying.ts";
import { operator, router, viewer } from "#server/core/api/trpc.ts";
import { readDrills, setDrill } from "./drills.ts";

export const drillsRouter = router({
  get: viewer.input(drillsInput).query(({ ctx, input }) => readDrills(ctx.hub, input)),
  set: operator.input(setDrillInput).mutation(({ ctx, input }) => setDrill(ctx, input)),
});
