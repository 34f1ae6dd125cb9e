import { byId } from "#protocol/wire/requests.ts";
import { exportSealKeyInput, importSealKeyInput, setSealingInput } from "#protocol/checkpoint/sealing.ts";
import { adminHere, router, viewer } from "#server/core/api/trpc.ts";
import { exportSealKey } from "./export-key.ts";
import { importSealKey } from "./import-key.ts";
import { readSealing } from "#server/core/profiles/seal-keys.ts";
import { renewSealKey, setSealing } from "./set-sealing.ts";

export const sealingRouter = router({
  get: viewer.input(byId).query(({ ctx, input }) => readSealing(ctx.hub, input)),
  set: adminHere.input(setSealingInput).mutation(({ ctx, input }) => setSealing(ctx, input)),
  renewKey: adminHere.input(byId).mutation(({ ctx, input }) => renewSealKey(ctx, input)),
  exportKey: adminHere.input(exportSealKeyInput).mutation(({ ctx, input }) => exportSealKey(ctx, input)),
  importKey: adminHere.input(importSealKeyInput).mutation(({ ctx, input }) => importSealKey(ctx, input)),
});
