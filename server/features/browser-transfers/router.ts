import {
  askCorsInput,
  finishUploadsInput,
  listFolderInput,
  lookAtInput,
  signPartsInput,
  signReadsInput,
  startUploadsInput,
  uploadIds,
} from "#protocol/buckets/browser-transfers.ts";
import { byId } from "#protocol/wire/requests.ts";
import { askProfileCors } from "#server/core/profiles/cors.ts";
import { operator, router, viewer } from "#server/core/api/trpc.ts";
import { finishUploads } from "./finish.ts";
import { giveUpUploads } from "./give-up.ts";
import { listFolder } from "./list-folder.ts";
import { listOpenUploads } from "./list-open.ts";
import { listOwnParts } from "./list-parts.ts";
import { lookAtObjects } from "./look-at.ts";
import { signParts } from "./sign-parts.ts";
import { signReads } from "./sign-reads.ts";
import { startUploads } from "./start.ts";

/** Procedures by which pages move bytes between a browser and a bucket; the bytes never pass through the hub. */
export const browserTransfersRouter = router({
  start: operator.input(startUploadsInput).mutation(({ ctx, input }) => startUploads(ctx, input)),
  sign: operator.input(signPartsInput).mutation(({ ctx, input }) => signParts(ctx, input)),
  parts: operator.input(byId).query(({ ctx, input }) => listOwnParts(ctx, input)),
  finish: operator.input(finishUploadsInput).mutation(({ ctx, input }) => finishUploads(ctx, input)),
  giveUp: operator.input(uploadIds).mutation(({ ctx, input }) => giveUpUploads(ctx, input)),
  open: operator.query(({ ctx }) => listOpenUploads(ctx)),
  lookAt: viewer.input(lookAtInput).mutation(({ ctx, input }) => lookAtObjects(ctx, input)),
  signReads: viewer.input(signReadsInput).mutation(({ ctx, input }) => signReads(ctx, input)),
  folder: viewer
    .input(listFolderInput)
    .query(({ ctx, input, signal }) => listFolder(ctx, input, signal ?? ctx.hub.closing)),
  cors: viewer.input(askCorsInput).mutation(({ ctx, input }) => askProfileCors(ctx, input)),
});
