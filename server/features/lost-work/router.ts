import { lossSummaryInput, setNodePriceInput } from "#protocol/history/losses.ts";
import { listLossesInput } from "#protocol/wire/requests.ts";
import { operator, router, viewer } from "#server/core/api/trpc.ts";
import { listLosses } from "./list.ts";
import { setPrice } from "./prices.ts";
import { summariseLosses } from "./summarise.ts";

export const lossesRouter = router({
  list: viewer.input(listLossesInput).query(({ ctx, input }) => listLosses(ctx.hub, input)),
  summary: viewer.input(lossSummaryInput).query(({ ctx, input }) => summariseLosses(ctx.hub, input)),
  setPrice: operator.input(setNodePriceInput).mutation(({ ctx, input }) => setPrice(ctx, input)),
});
