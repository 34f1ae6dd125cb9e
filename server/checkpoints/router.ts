import { byId, byRun } from "#protocol/requests.ts";
import type { CheckpointView, RunRow, RunView } from "#protocol/views.ts";
import { router, viewer } from "../trpc.ts";
import { soon } from "../soon.ts";

export const runsRouter = router({
  list: viewer.query(() => soon<RunRow[]>()),
  get: viewer.input(byRun).query(() => soon<RunView>()),
});

export const checkpointsRouter = router({
  get: viewer.input(byId).query(() => soon<CheckpointView>()),
});
