import { queryOptions } from "@tanstack/react-query";
import { hub } from "./client.ts";

/** Queries of the pages to the hub. A "stale" message of the live stream refetches the matching ones. */

export const statusQuery = () => queryOptions({ queryKey: ["account"], queryFn: () => hub.auth.status.query() });
export const profilesQuery = () => queryOptions({ queryKey: ["profiles"], queryFn: () => hub.profiles.list.query() });
/**
 * Asks for the usage of a bucket. Refetched once a minute instead of at each checkpoint, because the hub sums all rows
 * for it.
 */
export const usageQuery = (profileId: string) =>
  queryOptions({
    queryKey: ["usage", profileId],
    queryFn: () => hub.bucket.usage.query({ profileId }),
    refetchInterval: 60_000,
  });
export const bucketVersionsQuery = (profileId: string) =>
  queryOptions({
    queryKey: ["usage", profileId, "versions"],
    queryFn: () => hub.bucket.keepsVersions.query({ profileId }),
    staleTime: 600_000,
  });
export const presetsQuery = () =>
  queryOptions({ queryKey: ["presets"], queryFn: () => hub.profiles.presets.query(), staleTime: Infinity });
export const tokensQuery = () => queryOptions({ queryKey: ["tokens"], queryFn: () => hub.tokens.list.query() });
export const runsQuery = () => queryOptions({ queryKey: ["runs"], queryFn: () => hub.runs.list.query() });
export const runQuery = (run: string) =>
  queryOptions({ queryKey: ["runs", run], queryFn: () => hub.runs.get.query({ run }) });
export const runMetricsQuery = (asked: { run: string; names: string[]; steps: { from: number; to: number } | null }) =>
  queryOptions({
    queryKey: ["runs", asked.run, "metrics", asked],
    queryFn: () => hub.runs.metrics.query(asked),
    staleTime: 15_000,
    refetchInterval: 15_000,
  });
export const timelineQuery = (run: string) =>
  queryOptions({
    queryKey: ["runs", run, "timeline"],
    queryFn: () => hub.runs.timeline.query({ run }),
    staleTime: 15_000,
  });
export const checkpointQuery = (id: string) =>
  queryOptions({ queryKey: ["checkpoints", id], queryFn: () => hub.checkpoints.get.query({ id }) });
export const jobQuery = (id: string) =>
  queryOptions({ queryKey: ["jobs", "one", id], queryFn: () => hub.jobs.get.query({ id }), refetchInterval: 5_000 });
export const drillsQuery = (run: string) =>
  queryOptions({
    queryKey: ["runs", run, "drills"],
    queryFn: () => hub.drills.get.query({ run }),
    refetchInterval: 30_000,
  });
export const homesQuery = (run: string) =>
  queryOptions({
    queryKey: ["runs", run, "homes"],
    queryFn: () => hub.homes.get.query({ run }),
    refetchInterval: 30_000,
  });
export const nodeQuery = (id: string) =>
  queryOptions({ queryKey: ["node", id], queryFn: () => hub.nodes.get.query({ id }) });

/**
 * Asks from which checkpoints a node's runs continue. The key begins with "runs", so a changed checkpoint refetches it;
 * reports of the node do not.
 */
export const continueQuery = (nodeId: string) =>
  queryOptions({
    queryKey: ["runs", "continue", nodeId],
    queryFn: () => hub.nodes.continueFrom.query({ id: nodeId }),
    refetchInterval: 10_000,
  });

/** Charts refetch every 10 s, or every minute for ranges above an hour. */
export const fleetSamplesQuery = (minutes: number) =>
  queryOptions({
    queryKey: ["samples", "fleet", minutes],
    queryFn: () => hub.fleet.samples.query({ minutes }),
    refetchInterval: minutes <= 60 ? 10_000 : 60_000,
  });
/** Asks for the last 200 events, for the markers in the fleet's chart. */
export const fleetNewsQuery = () =>
  queryOptions({
    queryKey: ["events", "news"],
    queryFn: () => hub.events.list.query({ nodeId: null, run: null, cursor: null, limit: 200 }),
    refetchInterval: 30_000,
  });
export const nodeSamplesQuery = (id: string, minutes: number) =>
  queryOptions({
    queryKey: ["samples", id, minutes],
    queryFn: () => hub.nodes.samples.query({ id, minutes }),
    refetchInterval: minutes <= 60 ? 10_000 : 60_000,
  });

export const restorePlanQuery = (
  checkpointId: string,
  { nodeId, choice }: { nodeId: string | null; choice: Parameters<typeof hub.restores.plan.query>[0]["choice"] },
) =>
  queryOptions({
    queryKey: ["restore-plan", checkpointId, nodeId, choice],
    queryFn: () => hub.restores.plan.query({ checkpointId, nodeId, choice }),
    staleTime: 0,
  });

export const activeAlertsQuery = () =>
  queryOptions({ queryKey: ["alerts", "active"], queryFn: () => hub.alerts.active.query({ limit: 200 }) });
export const alertRulesQuery = () =>
  queryOptions({ queryKey: ["alerts", "rules"], queryFn: () => hub.alerts.rules.list.query() });
export const alertChannelsQuery = () =>
  queryOptions({ queryKey: ["alerts", "channels"], queryFn: () => hub.alerts.channels.list.query() });

export const sessionsQuery = () =>
  queryOptions({ queryKey: ["account", "sessions"], queryFn: () => hub.sessions.list.query({ userId: null }) });
export const apiTokensQuery = () =>
  queryOptions({ queryKey: ["account", "api-tokens"], queryFn: () => hub.apiTokens.list.query() });
export const hubSettingsQuery = () =>
  queryOptions({ queryKey: ["hub-settings"], queryFn: () => hub.settings.list.query(), staleTime: 60_000 });
export const usersQuery = () => queryOptions({ queryKey: ["account", "users"], queryFn: () => hub.users.list.query() });
export const codesQuery = () =>
  queryOptions({ queryKey: ["account", "codes"], queryFn: () => hub.invitations.list.query() });
