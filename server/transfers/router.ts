import { listTransfersInput, transferAction } from "#protocol/requests.ts";
import type { TransferRow } from "#protocol/views.ts";
import { operator, router, viewer } from "../trpc.ts";
import { soon } from "../soon.ts";

export const transfersRouter = router({
  list: viewer.input(listTransfersInput).query(() => soon<{ rows: TransferRow[]; nextCursor: string | null }>()),
  act: operator.input(transferAction).mutation(() => soon<{ ok: true }>()),
});
