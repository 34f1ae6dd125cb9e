import { adoptionsRouter } from "./adopt/router.ts";
import { adviceRouter } from "./advice/router.ts";
import { alertsRouter } from "./alerts/router.ts";
import { apiTokensRouter } from "./api-tokens/router.ts";
import { authRouter } from "./auth/router.ts";
import { sessionsRouter } from "./auth/sessions.ts";
import { benchmarksRouter } from "./benchmarks/router.ts";
import { browserTransfersRouter } from "./browser-transfers/router.ts";
import { bucketRouter } from "./bucket/router.ts";
import { checkpointsRouter, runsRouter } from "./checkpoints/router.ts";
import { commandsRouter } from "./commands/router.ts";
import { auditRouter, eventsRouter } from "./events/router.ts";
import { homesRouter } from "./homes/router.ts";
import { thresholdsRouter } from "./governor/router.ts";
import { historyRouter } from "./history/router.ts";
import { inspectRouter } from "./inspect/router.ts";
import { fleetRouter, liveRouter } from "./live/router.ts";
import { keepingRouter } from "./keeping/router.ts";
import { lossesRouter } from "./losses/router.ts";
import { nodeRouter, nodesRouter, tokensRouter } from "./nodes/router.ts";
import { profilesRouter } from "./profiles/router.ts";
import { restoresRouter } from "./restores/router.ts";
import { sealingRouter } from "./sealing/router.ts";
import { settingsRouter } from "./settings/router.ts";
import { transfersRouter } from "./transfers/router.ts";
import { router } from "./trpc.ts";
import { limitIssues } from "./limit-issues.ts";
import { invitationsRouter, usersRouter } from "./users/router.ts";
import { drillsRouter } from "./verifying/router.ts";
import { upkeepRouter } from "./upkeep/router.ts";

/** Everything the hub can be asked, by people and by nodes. Mounted at /api/trpc. */
export const hubRouter = router({
  auth: authRouter,
  alerts: alertsRouter,
  live: liveRouter,
  fleet: fleetRouter,
  nodes: nodesRouter,
  profiles: profilesRouter,
  sealing: sealingRouter,
  bucket: bucketRouter,
  runs: runsRouter,
  checkpoints: checkpointsRouter,
  transfers: transfersRouter,
  commands: commandsRouter,
  events: eventsRouter,
  losses: lossesRouter,
  restores: restoresRouter,
  inspect: inspectRouter,
  adoptions: adoptionsRouter,
  tokens: tokensRouter,
  history: historyRouter,
  node: nodeRouter,
  users: usersRouter,
  invitations: invitationsRouter,
  sessions: sessionsRouter,
  apiTokens: apiTokensRouter,
  audit: auditRouter,
  upkeep: upkeepRouter,
  keeping: keepingRouter,
  drills: drillsRouter,
  homes: homesRouter,
  browserTransfers: browserTransfersRouter,
  thresholds: thresholdsRouter,
  advice: adviceRouter,
  settings: settingsRouter,
  benchmarks: benchmarksRouter,
});

limitIssues(hubRouter);

export type HubRouter = typeof hubRouter;
