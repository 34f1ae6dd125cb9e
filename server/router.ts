import { authRouter } from "./auth/router.ts";
import { checkpointsRouter, runsRouter } from "./checkpoints/router.ts";
import { eventsRouter } from "./events/router.ts";
import { historyRouter } from "./history/router.ts";
import { fleetRouter, liveRouter } from "./live/router.ts";
import { lossesRouter } from "./losses/router.ts";
import { nodeRouter, nodesRouter, tokensRouter } from "./nodes/router.ts";
import { profilesRouter } from "./profiles/router.ts";
import { restoresRouter } from "./restores/router.ts";
import { transfersRouter } from "./transfers/router.ts";
import { router } from "./trpc.ts";

/** Everything the hub can be asked, by people and by nodes. Mounted at /api/trpc. */
export const hubRouter = router({
  auth: authRouter,
  live: liveRouter,
  fleet: fleetRouter,
  nodes: nodesRouter,
  profiles: profilesRouter,
  runs: runsRouter,
  checkpoints: checkpointsRouter,
  transfers: transfersRouter,
  events: eventsRouter,
  losses: lossesRouter,
  restores: restoresRouter,
  tokens: tokensRouter,
  history: historyRouter,
  node: nodeRouter,
});

export type HubRouter = typeof hubRouter;
