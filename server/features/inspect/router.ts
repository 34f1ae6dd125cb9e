import { comparable, compareInput, inspectCheckpointInput, inspectFileInput } from "#protocol/checkpoint/inspect.ts";
import { recogniseInput } from "#protocol/recognition/recognise.ts";
import { operator, router, viewer, type Context } from "#server/core/api/trpc.ts";
import { comparePlaces, readCurve } from "./compare-places.ts";
import { inspectAt } from "#server/core/checkpoints/find-file.ts";
import { inspectCheckpoint } from "./inspect-checkpoint.ts";
import { requireMayLook } from "./may-look.ts";
import { recogniseBucket } from "#server/core/checkpoints/external/recognise-bucket.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Runs an inspection in the queue of the account, so that many requests, with any number of tokens, delay nobody else.
 * @throws Fault TOO_MANY_TRIES
 */
const inTurn = <T>({ hub, caller }: Context & { caller: PersonCaller }, look: () => Promise<T>): Promise<T> =>
  hub.inspecting.run(caller.person.id, look);

/** Inspections end with the request's own signal; calls without one end with the hub. */
export const inspectRouter = router({
  file: viewer.input(inspectFileInput).query(async ({ ctx, input, signal }) => {
    requireMayLook(ctx.caller, [input.place]);
    const { found } = await inTurn(ctx, () => inspectAt(ctx.hub, input.place, signal ?? ctx.hub.closing));
    const tensors = found.tensors.slice(0, input.tensors);
    return { ...found, tensors, tensorsOmitted: found.tensors.length - tensors.length };
  }),
  checkpoint: viewer
    .input(inspectCheckpointInput)
    .query(({ ctx, input, signal }) =>
      inTurn(ctx, () => inspectCheckpoint(ctx.hub, input.checkpointId, signal ?? ctx.hub.closing)),
    ),
  compare: viewer.input(compareInput).query(({ ctx, input, signal }) => {
    requireMayLook(ctx.caller, [input.from, input.to]);
    return inTurn(ctx, () => comparePlaces(ctx.hub, input, signal ?? ctx.hub.closing));
  }),
  curve: viewer.input(comparable).query(({ ctx, input, signal }) => {
    requireMayLook(ctx.caller, [input]);
    return inTurn(ctx, () => readCurve(ctx.hub, input, signal ?? ctx.hub.closing));
  }),
  recognise: operator
    .input(recogniseInput)
    .query(({ ctx, input, signal }) => inTurn(ctx, () => recogniseBucket(ctx.hub, input, signal ?? ctx.hub.closing))),
});
