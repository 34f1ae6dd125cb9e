import { listEventsInput } from "#protocol/requests.ts";
import type { EventRow } from "#protocol/views.ts";
import { router, viewer } from "../trpc.ts";
import { soon } from "../soon.ts";

export const eventsRouter = router({
  list: viewer.input(listEventsInput).query(() => soon<{ rows: EventRow[]; nextCursor: number | null }>()),
});
