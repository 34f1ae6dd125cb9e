import { listLossesInput } from "#protocol/requests.ts";
import { router, viewer } from "../trpc.ts";
import { listLosses } from "./list.ts";

export const lossesRouter = router({
  list: viewer.input(listLossesInput).query(({ ctx, input }) => listLosses(ctx.hub, input)),
});
