import type { Hub } from "./hub.ts";
import { stateOf } from "./live/live-node.ts";

/** Counts since the hub started. */
export interface Counters {
  /** Answers by class: `2xx`, `4xx`, ... */
  answers: Map<string, number>;
  signatures: number;
}

export const createCounters = (): Counters => ({ answers: new Map(), signatures: 0 });

export function countAnswer(counters: Counters, status: number): void {
  const kind = `${Math.floor(status / 100)}xx`;
  counters.answers.set(kind, (counters.answers.get(kind) ?? 0) + 1);
}

interface Metric {
  name: string;
  help: string;
  type: "gauge" | "counter";
  /** Label text (`state="online"` or empty) to value. */
  values: readonly (readonly [labels: string, value: number])[];
}

const textOf = ({ name, help, type, values }: Metric): string =>
  [
    `# HELP tidemark_${name} ${help}`,
    `# TYPE tidemark_${name} ${type}`,
    ...values.map(([labels, value]) => `tidemark_${name}${labels === "" ? "" : `{${labels}}`} ${value}`),
  ].join("\n");

function countBy<T>(items: Iterable<T>, labelOf: (item: T) => string): [string, number][] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(labelOf(item), (counts.get(labelOf(item)) ?? 0) + 1);
  return [...counts];
}

/** The Prometheus text of `/metrics` (exposition format 0.0.4). No names of nodes, runs or buckets. */
export function metricsText(hub: Hub): string {
  const { live, counters } = hub;
  const fleet = live.fleet(hub.now());
  const memory = process.memoryUsage();
  const metrics: Metric[] = [
    {
      name: "nodes",
      help: "Enrolled nodes by state.",
      type: "gauge",
      values: countBy(live.nodes.values(), (node) => `state="${stateOf(node)}"`),
    },
    {
      name: "transfers",
      help: "Transfers in view by direction and state.",
      type: "gauge",
      values: countBy(live.transfers.values(), ({ row }) => `direction="${row.direction}",state="${row.state}"`),
    },
    {
      name: "at_risk_bytes",
      help: "Captured bytes that are not safe.",
      type: "gauge",
      values: [["", fleet.risk.bytes]],
    },
    {
      name: "at_risk_seconds",
      help: "Training time that would be repeated if every node died now.",
      type: "gauge",
      values: [["", fleet.risk.lossMs / 1000]],
    },
    {
      name: "bytes_per_second",
      help: "Rate of all nodes.",
      type: "gauge",
      values: [
        [`direction="upload"`, fleet.upBytesPerSecond],
        [`direction="download"`, fleet.downBytesPerSecond],
      ],
    },
    {
      name: "checkpoints_complete",
      help: "Complete checkpoints.",
      type: "gauge",
      values: [["", fleet.checkpointsComplete]],
    },
    { name: "watchers", help: "Browsers with an open stream.", type: "gauge", values: [["", live.watchers]] },
    {
      name: "signatures_total",
      help: "Requests signed for nodes.",
      type: "counter",
      values: [["", counters.signatures]],
    },
    {
      name: "http_answers_total",
      help: "Answers by class of status.",
      type: "counter",
      values: [...counters.answers].map(([kind, count]) => [`class="${kind}"`, count] as const),
    },
    {
      name: "process_resident_bytes",
      help: "Resident memory of the hub's process.",
      type: "gauge",
      values: [["", memory.rss]],
    },
    {
      name: "process_heap_bytes",
      help: "Used heap of the hub's process.",
      type: "gauge",
      values: [["", memory.heapUsed]],
    },
    {
      name: "uptime_seconds",
      help: "Time since the hub started.",
      type: "gauge",
      values: [["", (hub.now() - hub.startedAt) / 1000]],
    },
  ];
  return `${metrics.map(textOf).join("\n")}\n`;
}
