import { listTransfersInput, transferAction } from "#protocol/wire/requests.ts";
import { operator, router, viewer } from "../api/trpc.ts";
import { act } from "./act.ts";
import { listTransfers } from "./list.ts";

export const transfersRouter = router({
  list: viewer.input(listTransfersInput).query(({ ctx, input }) => listTransfers(ctx.hub, input)),
  act: operator.input(transferAction).mutation(({ ctx, input }) => act(ctx, input)),
});
