import { adoptionsRouter } from "./features/external-checkpoints/router.ts";
import { adviceRouter } from "./features/advice/router.ts";
import { alertsRouter } from "./features/alerts/router.ts";
import { apiTokensRouter } from "./core/accounts/api-tokens/router.ts";
import { authRouter } from "./core/accounts/auth/router.ts";
import { sessionsRouter } from "./core/accounts/auth/sessions.ts";
import { benchmarksRouter } from "./features/benchmarks/router.ts";
import { browserTransfersRouter } from "./features/browser-transfers/router.ts";
import { bucketRouter } from "./features/bucket-browser/router.ts";
import { checkpointsRouter, runsRouter } from "./http/checkpoints-router.ts";
import { commandsRouter } from "./features/commands/router.ts";
import { auditRouter, eventsRouter } from "./core/events/router.ts";
import { homesRouter } from "./features/replicas/router.ts";
import { thresholdsRouter } from "./features/reallocation/router.ts";
import { historyRouter } from "./core/history/router.ts";
import { groupsRouter } from "./features/groups/router.ts";
import { jobsRouter } from "./features/jobs/router.ts";
import { inspectRouter } from "./features/inspect/router.ts";
import { fleetRouter, liveRouter } from "./http/live-router.ts";
import { keepingRouter } from "./features/retention/router.ts";
import { lossesRouter } from "./features/lost-work/router.ts";
import { nodeRouter, nodesRouter, tokensRouter } from "./http/nodes-router.ts";
import { profilesRouter } from "./core/profiles/router.ts";
import { restoresRouter } from "./features/restores/router.ts";
import { sealingRouter } from "./features/encryption/router.ts";
import { settingsRouter } from "./features/settings/router.ts";
import { transfersRouter } from "./core/transfers/router.ts";
import { router } from "./core/api/trpc.ts";
import { limitIssues } from "./core/api/limit-issues.ts";
import { invitationsRouter, usersRouter } from "./core/accounts/users/router.ts";
import { drillsRouter } from "./features/verification/router.ts";
import { upkeepRouter } from "./features/maintenance/router.ts";

/** The router of all procedures, for people and for nodes. Mounted at /api/trpc. */
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
  jobs: jobsRouter,
  groups: groupsRouter,
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
