import { samplesOf, writeExposition, type MetricFamily, type Sample } from "#protocol/base/exposition.ts";
import { isHeard, NODE_STATES, transferPhaseOf } from "#protocol/fleet/node-status.ts";
import type { Hub } from "../core/api/hub.ts";
import { stateOf, type LiveNode } from "../core/live/live-node.ts";

/**
 * Writes the Prometheus text of `/metrics` (exposition format 0.0.4). It may be readable without a sign-in, so it has no names
 * of nodes, runs or buckets. Base units, counters end in `_total`; docs/metrics.md and docs/grafana say the same, and tests
 * hold them to it.
 */

const one = (value: number): Sample[] => [{ value }];
const byLabel = (label: string, counts: ReadonlyMap<string, number>): Sample[] =>
  [...counts].map(([text, value]) => ({ labels: { [label]: text }, value }));

function countBy<T>(labels: readonly string[], items: Iterable<T>, labelOf: (item: T) => string): Map<string, number> {
  const counts = new Map(labels.map((label) => [label, 0]));
  for (const item of items) counts.set(labelOf(item), (counts.get(labelOf(item)) ?? 0) + 1);
  return counts;
}

const MOVING = ["waiting", "running", "unheard", "paused"] as const;

const gauge = (name: string, help: string, samples: Sample[]): MetricFamily => ({ name, help, type: "gauge", samples });
const counter = (name: string, help: string, samples: Sample[]): MetricFamily => ({
  name,
  help,
  type: "counter",
  samples,
});

/** Returns the time of the oldest unsafe capture by the reports of nodes (null: all are safe), and their round trips, sorted. */
function readReports(nodes: readonly LiveNode[]): { oldestAt: number | null; tripsMs: number[] } {
  let oldestAt: number | null = null;
  const tripsMs: number[] = [];
  for (const node of nodes) {
    const state = stateOf(node);
    if (node.report === null || state === "revoked") continue;
    for (const { oldestUnsafeAt } of node.report.runs)
      if (oldestUnsafeAt !== null) oldestAt = Math.min(oldestAt ?? oldestUnsafeAt, oldestUnsafeAt);
    if (isHeard(state) && node.report.rttMs !== null) tripsMs.push(node.report.rttMs);
  }
  return { oldestAt, tripsMs: tripsMs.toSorted((a, b) => a - b) };
}

async function fleetMetrics({ live, now }: Hub): Promise<MetricFamily[]> {
  const at = now();
  const fleet = await live.fleet(at);
  const nodes = [...live.nodes.values()];
  const moving = countBy([], live.transfers.values(), ({ row }) => {
    const node = live.nodes.get(row.nodeId);
    const phase = transferPhaseOf(row.state, node === undefined ? null : stateOf(node));
    return `${row.direction} ${phase === "moving" ? "running" : phase}`;
  });
  const { oldestAt, tripsMs } = readReports(nodes);
  const oldestAgeMs = Math.max(0, at - (oldestAt ?? at));
  const trip = (share: number) => (tripsMs[Math.floor(share * (tripsMs.length - 1))] ?? Number.NaN) / 1000;
  return [
    gauge("tidemark_nodes", "Enrolled nodes by state.", byLabel("state", countBy(NODE_STATES, nodes, stateOf))),
    gauge(
      "tidemark_nodes_by_work",
      "Nodes by what would become of their work if they died now.",
      byLabel("work", new Map(Object.entries(fleet.byWork))),
    ),
    gauge("tidemark_at_risk_bytes", "Captured bytes that are not safe.", one(fleet.risk.bytes)),
    gauge("tidemark_at_risk_checkpoints", "Captured checkpoints that are not safe.", one(fleet.risk.checkpoints)),
    gauge(
      "tidemark_at_risk_seconds",
      "Training time that would be repeated if every node died now.",
      one(fleet.risk.lossMs / 1000),
    ),
    gauge(
      "tidemark_at_risk_oldest_age_seconds",
      "Age of the oldest checkpoint that is not safe; 0 when all are.",
      one(oldestAgeMs / 1000),
    ),
    gauge("tidemark_transfer_bytes_per_second", "Rate of all nodes now.", [
      { labels: { direction: "upload" }, value: fleet.upBytesPerSecond },
      { labels: { direction: "download" }, value: fleet.downBytesPerSecond },
    ]),
    gauge(
      "tidemark_transfers",
      "Transfers that have not ended, by direction and state; unheard: running by the last word of a node that is not heard.",
      (["upload", "download", "verify", "drill", "copy"] as const).flatMap((direction) =>
        MOVING.map((state) => ({
          labels: { direction, state },
          value: moving.get(`${direction} ${state}`) ?? 0,
        })),
      ),
    ),
    gauge(
      "tidemark_store_rtt_seconds",
      "Round trip to the store of online nodes: percentiles over the nodes, NaN while no node knows its own.",
      [10, 50, 90].map((percent) => ({ labels: { percentile: String(percent) }, value: trip(percent / 100) })),
    ),
    gauge("tidemark_checkpoints_complete", "Complete checkpoints.", one(fleet.checkpointsComplete)),
  ];
}

/** Connections of a hub on SQLite. */
const NO_ROOM = { most: 0, open: 0, idle: 0, waiting: 0 };

function connectionMetrics({ connections }: Hub["counters"]): MetricFamily[] {
  const { most, open, idle, waiting } = connections?.() ?? NO_ROOM;
  const states = new Map([
    ["busy", open - idle],
    ["idle", idle],
    ["unopened", most - open],
  ]);
  const help = "Connections to PostgreSQL by state; 0 on SQLite.";
  return [
    gauge("tidemark_database_connections", help, byLabel("state", states)),
    gauge(
      "tidemark_database_waiting",
      "Statements and transactions that wait for a connection to PostgreSQL; 0 on SQLite.",
      one(waiting),
    ),
  ];
}

function workMetrics({ counters, live }: Hub): MetricFamily[] {
  const streams = [...live.nodes.values()].reduce((sum, node) => sum + node.mailboxes.size, 0);
  return [
    counter("tidemark_reports_total", "Progress reports of nodes that were accepted.", one(counters.reports)),
    counter(
      "tidemark_transfer_bytes_total",
      "Bytes that crossed the network in transfers that ended, by direction.",
      byLabel("direction", counters.transferBytes),
    ),
    counter("tidemark_uploads_total", "Uploads that ended, by outcome.", byLabel("outcome", counters.uploads)),
    counter("tidemark_restores_total", "Restores that ended, by outcome.", byLabel("outcome", counters.restores)),
    counter(
      "tidemark_checks_total",
      "Checkpoints that were read back, to verify them or for a restore drill, by outcome.",
      byLabel("outcome", counters.checks),
    ),
    counter(
      "tidemark_checkpoints_committed_total",
      "Checkpoints that became safe.",
      one(counters.checkpointsCommitted),
    ),
    counter("tidemark_losses_total", "Interruptions after which training was repeated.", one(counters.losses)),
    counter("tidemark_lost_training_seconds_total", "Training time that was repeated.", one(counters.lostMs / 1000)),
    counter("tidemark_probes_total", "Probes of links by verdict.", byLabel("verdict", counters.probes)),
    counter(
      "tidemark_commands_total",
      "Commands to nodes: sent, and how they ended.",
      byLabel("state", counters.commands),
    ),
    gauge(
      "tidemark_commands_open",
      "Commands that have not ended: sent, or accepted by their node.",
      byLabel("state", live.openCommands),
    ),
    gauge("tidemark_jobs_open", "Jobs that have not ended: waiting or running.", byLabel("state", live.openJobs)),
    counter(
      "tidemark_job_attempts_total",
      "Attempts of jobs that ended, by outcome.",
      byLabel("outcome", counters.jobAttempts),
    ),
    {
      name: "tidemark_command_delivery_seconds",
      help: "From a person's request until the node has it in its journal.",
      type: "histogram",
      samples: samplesOf(counters.commandDelivery),
    },
    gauge("tidemark_streams", "Open live streams.", [
      { labels: { to: "node" }, value: streams },
      { labels: { to: "browser" }, value: live.watchers },
    ]),
  ];
}

function hubMetrics({ counters, loop, startedAt }: Hub): MetricFamily[] {
  const { lag } = counters;
  const cpu = process.cpuUsage();
  const memory = process.memoryUsage();
  // The histogram is empty before its first sample.
  const lagSeconds = (ns: number) => (lag.count === 0 ? 0 : ns / 1e9);
  const lags = [
    ["50", lagSeconds(lag.percentile(50))],
    ["99", lagSeconds(lag.percentile(99))],
    ["100", lagSeconds(lag.max)],
  ] as const;
  lag.reset();
  return [
    counter("tidemark_signatures_total", "Requests signed for nodes.", one(counters.signatures)),
    counter(
      "tidemark_store_calls_total",
      "Calls of the hub itself to stores, by outcome: ok, class of status, none without an answer.",
      byLabel("outcome", counters.storeCalls),
    ),
    {
      name: "tidemark_db_write_seconds",
      help: "Time of one write or transaction of the database.",
      type: "histogram",
      samples: samplesOf(counters.dbWrites),
    },
    counter(
      "tidemark_refused_credentials_total",
      "Failed sign-ins and credentials that opened nothing, by what was shown.",
      byLabel("by", counters.refusals),
    ),
    counter(
      "tidemark_loop_stalls_total",
      "How often the event loop stood still for more than 200 ms, by the procedure that began last.",
      byLabel("procedure", counters.stalls),
    ),
    counter("tidemark_http_answers_total", "Answers by class of status.", byLabel("class", counters.answers)),
    counter(
      "process_cpu_seconds_total",
      "User and system CPU time of the hub's process.",
      one((cpu.user + cpu.system) / 1e6),
    ),
    gauge(
      "tidemark_database_log_bytes",
      "Length of the database's write-ahead log; it grows while a reader keeps one transaction open.",
      counters.database === null ? [] : one(counters.database.logBytes),
    ),
    ...connectionMetrics(counters),
    gauge(
      "tidemark_data_folder_free_bytes",
      "Room on the disk of the hub's data folder.",
      counters.database === null ? [] : one(counters.database.freeBytes),
    ),
    gauge("process_resident_memory_bytes", "Resident memory of the hub's process.", one(memory.rss)),
    gauge("process_start_time_seconds", "When the hub started, since 1970.", one(startedAt / 1000)),
    gauge("nodejs_heap_size_used_bytes", "Used heap of the hub's process.", one(memory.heapUsed)),
    gauge(
      "tidemark_loop_longest_stall_seconds",
      "The longest time that the event loop stood still since the hub started.",
      one(loop.longestMs / 1000),
    ),
    gauge(
      "tidemark_loop_longest_busy_seconds",
      "The longest of these in which the hub's own thread worked; in the others the machine had no time for it.",
      one(loop.longestBusyMs / 1000),
    ),
    gauge(
      "nodejs_eventloop_lag_seconds",
      "Delay of the event loop since the metrics were read last.",
      lags.map(([percentile, value]) => ({ labels: { percentile }, value })),
    ),
  ];
}

export const metricsText = async (hub: Hub): Promise<string> =>
  writeExposition([...(await fleetMetrics(hub)), ...workMetrics(hub), ...hubMetrics(hub)]);
