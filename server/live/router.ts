import { z } from "zod";
import type { LiveMessage, SamplePoint } from "#protocol/views.ts";
import { router, viewer } from "../trpc.ts";
import { soon, soonStream } from "../soon.ts";

export const liveRouter = router({
  watch: viewer.subscription(() => soonStream<LiveMessage>()),
});

export const fleetRouter = router({
  samples: viewer.input(z.object({ minutes: z.number().int().min(1).max(10_080) })).query(() => soon<SamplePoint[]>()),
});
