import { comparable, compareInput, inspectCheckpointInput, inspectFileInput } from "#protocol/inspect.ts";
import { recogniseInput } from "#protocol/recognise.ts";
import { operator, router, viewer } from "../trpc.ts";
import { comparePlaces, readCurve } from "./compare-places.ts";
import { inspectAt } from "./find-file.ts";
import { inspectCheckpoint } from "./inspect-checkpoint.ts";
import { requireMayLook } from "./may-look.ts";
import { recogniseBucket } from "./recognise-bucket.ts";

/** A browser that asks no more takes its signal along; calls from elsewhere end with the hub. */
export const inspectRouter = router({
  file: viewer.input(inspectFileInput).query(async ({ ctx, input, signal }) => {
    requireMayLook(ctx.caller, [input.place]);
    const { found } = await inspectAt(ctx.hub, input.place, signal ?? ctx.hub.closing);
    const tensors = found.tensors.slice(0, input.tensors);
    return { ...found, tensors, tensorsOmitted: found.tensors.length - tensors.length };
  }),
  checkpoint: viewer
    .input(inspectCheckpointInput)
    .query(({ ctx, input, signal }) => inspectCheckpoint(ctx.hub, input.checkpointId, signal ?? ctx.hub.closing)),
  compare: viewer.input(compareInput).query(({ ctx, input, signal }) => {
    requireMayLook(ctx.caller, [input.from, input.to]);
    return comparePlaces(ctx.hub, input, signal ?? ctx.hub.closing);
  }),
  curve: viewer.input(comparable).query(({ ctx, input, signal }) => {
    requireMayLook(ctx.caller, [input]);
    return readCurve(ctx.hub, input, signal ?? ctx.hub.closing);
  }),
  recognise: operator
    .input(recogniseInput)
    .query(({ ctx, input, signal }) => recogniseBucket(ctx.hub, input, signal ?? ctx.hub.closing)),
});
