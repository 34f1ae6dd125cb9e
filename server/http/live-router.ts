import * as z from "zod";
import { listMinutes } from "../core/history/list-minutes.ts";
import { router, viewer } from "../core/api/trpc.ts";
import { minutes } from "../core/live/minutes.ts";
import { watch } from "./watch.ts";

export const liveRouter = router({
  watch: viewer.subscription(({ ctx, signal }) => watch(ctx, signal ?? ctx.hub.closing)),
});

export const fleetRouter = router({
  samples: viewer
    .input(z.object({ minutes }))
    .query(({ ctx, input }) => listMinutes(ctx.hub, { nodeId: null, minutes: input.minutes })),
});
