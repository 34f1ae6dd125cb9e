import { bringAdviceBackInput, dismissInput, listAdviceInput, takeAdviceInput } from "#protocol/alerts/advice.ts";
import { admin, operator, router, viewer } from "#server/core/api/trpc.ts";
import { bringAdviceBack, dismissAdvice } from "./dismiss.ts";
import { listAdvice } from "./list-advice.ts";
import { takeAdvice } from "./take-advice.ts";

export const adviceRouter = router({
  list: viewer.input(listAdviceInput).query(({ ctx, input }) => listAdvice(ctx.hub, input)),
  dismiss: operator.input(dismissInput).mutation(({ ctx, input }) => dismissAdvice(ctx, input)),
  bringBack: operator.input(bringAdviceBackInput).mutation(({ ctx, input }) => bringAdviceBack(ctx, input)),
  take: admin.input(takeAdviceInput).mutation(({ ctx, input }) => takeAdvice(ctx, input)),
});
