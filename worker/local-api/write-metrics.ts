import { writeExposition, type MetricFamily } from "#protocol/base/exposition.ts";
import type { LocalRun, LocalStatus } from "#protocol/local-api/local.ts";

type Read<T> = readonly [name: string, help: string, read: (from: T, status: LocalStatus) => number | null];

const secondsOf = (ms: number | null): number | null => (ms === null ? null : ms / 1000);
const moving = (status: LocalStatus, direction: string): number =>
  status.transfers.filter((transfer) => transfer.direction === direction && transfer.state === "running").length;

const PER_WORKER: readonly Read<LocalStatus>[] = [
  ["pending", "Checkpoints that are not safe.", (status) => status.pending],
  ["hub_up", "Whether the hub answered last.", (status) => (status.hub.isUp ? 1 : 0)],
  ["up_bytes_per_second", "Rate of uploads now.", (status) => status.upBytesPerSecond],
  ["down_bytes_per_second", "Rate of restores now.", (status) => status.downBytesPerSecond],
  ["uploads_running", "Uploads that move now.", (status) => moving(status, "upload")],
  ["restores_running", "Restores that move now.", (status) => moving(status, "download")],
  ["store_rtt_seconds", "Shortest round trip to the store.", (status) => secondsOf(status.rttMs)],
];

const PER_RUN: readonly Read<LocalRun>[] = [
  ["unsafe_checkpoints", "Captured checkpoints that are not safe.", (run) => run.unsafeCheckpoints],
  ["unsafe_files", "Files of captured checkpoints that are not safe.", (run) => run.unsafeFiles],
  ["unsafe_bytes", "Bytes of captured checkpoints that are not safe.", (run) => run.unsafeBytes],
  ["moved_bytes", "Of these, bytes the store has acknowledged.", (run) => run.movedBytes],
  [
    "at_risk_oldest_age_seconds",
    "Age of the oldest checkpoint that is not safe; 0 when all are.",
    (run, { at }) => (run.oldestUnsafeAt === null ? 0 : Math.max(0, at - run.oldestUnsafeAt) / 1000),
  ],
  ["at_risk_seconds", "Training time that would be repeated if this node died now.", (run) => run.risk.lossMs / 1000],
  ["at_risk_steps", "Steps trained here, written or not, that are not safe.", (run) => run.risk.steps],
  ["safe_step", "Newest safe step.", (run) => run.safeStep],
  ["local_step", "Newest step on disk here.", (run) => run.localStep],
  ["drain_seconds", "Until everything captured is safe, at the rate of now.", (run) => secondsOf(run.etaMs)],
  ["interval_seconds", "Time between the last two checkpoints.", (run) => secondsOf(run.intervalMs)],
  [
    "least_interval_seconds",
    "Shortest time between two checkpoints that the uplink can sustain.",
    (run) => secondsOf(run.sustain?.leastIntervalMs ?? null),
  ],
];

/** Returns the metrics of one worker as Prometheus text (exposition format 0.0.4). Unknown values are left out. */
export function metricsOf(status: LocalStatus): string {
  const family = (name: string, help: string, samples: MetricFamily["samples"]): MetricFamily[] =>
    samples.length === 0 ? [] : [{ name: `tidemark_worker_${name}`, help, type: "gauge", samples }];
  return writeExposition([
    ...PER_WORKER.flatMap(([name, help, read]) => {
      const value = read(status, status);
      return family(name, help, value === null ? [] : [{ value }]);
    }),
    ...PER_RUN.flatMap(([name, help, read]) => {
      const samples = status.runs.flatMap((run) => {
        const value = read(run, status);
        return value === null ? [] : [{ labels: { run: run.run }, value }];
      });
      return family(name, help, samples);
    }),
  ]);
}
