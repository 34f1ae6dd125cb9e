import {
  checkpointNote,
  checkpointTag,
  emptyTrashInput,
  policyOf,
  previewInput,
  setPolicyInput,
} from "#protocol/retention/keeping.ts";
import { byId, byRun } from "#protocol/wire/requests.ts";
import { admin, operator, router, viewer } from "#server/core/api/trpc.ts";
import { applyNow } from "./apply-policy.ts";
import { bringBack } from "./bring-back.ts";
import { emptyNow } from "./empty-trash.ts";
import { findVersions } from "./find-versions.ts";
import { listTrash } from "./list-trash.ts";
import { note } from "./note.ts";
import { pin } from "./pin.ts";
import { policyOfRun, setPolicy } from "./policy.ts";
import { preview } from "./preview.ts";
import { tag } from "./tag.ts";
import { trash } from "./trash.ts";
import { unpin } from "./unpin.ts";
import { untag } from "./untag.ts";

/** Procedures for pins, tags, notes and the trash; part of the router of checkpoints. */
export const keepProcedures = {
  pin: operator.input(byId).mutation(({ ctx, input }) => pin(ctx, input)),
  unpin: operator.input(byId).mutation(({ ctx, input }) => unpin(ctx, input)),
  tag: operator.input(checkpointTag).mutation(({ ctx, input }) => tag(ctx, input)),
  untag: operator.input(checkpointTag).mutation(({ ctx, input }) => untag(ctx, input)),
  note: operator.input(checkpointNote).mutation(({ ctx, input }) => note(ctx, input)),
  trash: operator.input(byId).mutation(({ ctx, input }) => trash(ctx, input)),
  bringBack: operator.input(byId).mutation(({ ctx, input }) => bringBack(ctx, input)),
};

export const keepingRouter = router({
  policy: viewer.input(policyOf).query(({ ctx, input }) => policyOfRun(ctx.hub, input)),
  preview: viewer.input(previewInput).query(({ ctx, input }) => preview(ctx.hub, input)),
  trash: viewer.input(policyOf).query(({ ctx, input }) => listTrash(ctx.hub, input)),
  versions: viewer.input(byRun).query(({ ctx, input }) => findVersions(ctx.hub, input)),
  setPolicy: operator.input(setPolicyInput).mutation(({ ctx, input }) => setPolicy(ctx, input)),
  applyNow: operator.input(byRun).mutation(({ ctx, input }) => applyNow(ctx, input)),
  emptyNow: admin.input(emptyTrashInput).mutation(({ ctx, input }) => emptyNow(ctx, input)),
});
