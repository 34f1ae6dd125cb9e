import { byRun } from "#protocol/wire/requests.ts";
import { setHomesInput } from "#protocol/wire/homes.ts";
import { operator, router, viewer } from "#server/core/api/trpc.ts";
import { readHomes } from "./read-homes.ts";
import { setHomes } from "./set-homes.ts";

export const homesRouter = router({
  get: viewer.input(byRun).query(({ ctx, input }) => readHomes(ctx.hub, input.run)),
  set: operator.input(setHomesInput).mutation(({ ctx, input }) => setHomes(ctx, input)),
});
