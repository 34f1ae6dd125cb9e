import type { LocalRun, LocalStatus } from "#protocol/local.ts";

/** Label values are escaped as the exposition format asks: backslash, quote and line feed. */
const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

type PerRun = readonly [name: string, help: string, read: (run: LocalRun) => number | null];

const PER_RUN: readonly PerRun[] = [
  ["unsafe_checkpoints", "Captured checkpoints that are not safe.", (run) => run.unsafeCheckpoints],
  ["unsafe_files", "Their files.", (run) => run.unsafeFiles],
  ["unsafe_bytes", "Their bytes.", (run) => run.unsafeBytes],
  ["moved_bytes", "Of these, bytes the store has acknowledged.", (run) => run.movedBytes],
  ["at_risk_seconds", "Training time that would be repeated if this node died now.", (run) => run.risk.lossMs / 1000],
  ["at_risk_steps", "Steps on disk here that are not safe.", (run) => run.risk.steps],
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

const secondsOf = (ms: number | null): number | null => (ms === null ? null : ms / 1000);

/** The Prometheus text (exposition format 0.0.4) of one worker. */
export function metricsOf(status: LocalStatus): string {
  const gauges: [name: string, help: string, value: number | null][] = [
    ["pending", "Checkpoints that are not safe.", status.pending],
    ["hub_up", "Whether the hub answered last.", status.hub.isUp ? 1 : 0],
    ["up_bytes_per_second", "Rate of uploads now.", status.upBytesPerSecond],
    ["down_bytes_per_second", "Rate of restores now.", status.downBytesPerSecond],
    ["store_rtt_seconds", "Shortest round trip to the store.", secondsOf(status.rttMs)],
  ];
  const lines: string[] = [];
  const head = (name: string, help: string) =>
    lines.push(`# HELP tidemark_worker_${name} ${help}`, `# TYPE tidemark_worker_${name} gauge`);
  for (const [name, help, value] of gauges) {
    if (value === null) continue;
    head(name, help);
    lines.push(`tidemark_worker_${name} ${value}`);
  }
  for (const [name, help, read] of PER_RUN) {
    const values = status.runs.flatMap((run) => {
      const value = read(run);
      return value === null ? [] : [`tidemark_worker_${name}{run="${escaped(run.run)}"} ${value}`];
    });
    if (values.length === 0) continue;
    head(name, help);
    lines.push(...values);
  }
  return `${lines.join("\n")}\n`;
}
