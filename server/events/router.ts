import { listEventsInput } from "#protocol/requests.ts";
import { router, viewer } from "../trpc.ts";
import { listEvents } from "./list.ts";

export const eventsRouter = router({
  list: viewer.input(listEventsInput).query(({ ctx, input }) => listEvents(ctx.hub, input)),
});
