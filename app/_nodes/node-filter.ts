import { nodeConditionOf, type NodeCondition } from "#protocol/fleet/node-status.ts";
import type { NodeRow } from "#protocol/wire/views.ts";

/** Filters of the node list. */
export const NODE_FILTERS = [
  { id: "all", label: "All" },
  { id: "risk", label: "Behind or lost" },
  { id: "moving", label: "Uploading" },
  { id: "unconfirmed", label: "Unconfirmed" },
  { id: "silent", label: "Silent" },
  { id: "offline", label: "Offline" },
  { id: "revoked", label: "Revoked" },
] as const;
export type NodeFilter = (typeof NODE_FILTERS)[number]["id"];

export const parseNodeFilter = (text: string): NodeFilter =>
  NODE_FILTERS.find((filter) => filter.id === text)?.id ?? "all";

/** Returns whether a node matches a filter. Only the filter `revoked` includes revoked nodes. */
export function passesFilter(node: NodeRow, filter: NodeFilter): boolean {
  switch (filter) {
    case "all":
      return node.state !== "revoked";
    case "risk":
      return node.state !== "revoked" && (node.work === "risk" || node.work === "lost");
    case "moving":
      return nodeConditionOf(node) === "uploading";
    case "unconfirmed":
    case "silent":
    case "offline":
    case "revoked":
      return node.state === filter;
  }
}

/** Counts the nodes per condition. */
export function countConditions(nodes: Iterable<NodeRow>): ReadonlyMap<NodeCondition, number> {
  const counts = new Map<NodeCondition, number>();
  for (const node of nodes) {
    const condition = nodeConditionOf(node);
    counts.set(condition, (counts.get(condition) ?? 0) + 1);
  }
  return counts;
}

/** Returns whether the name, GPU, labels, run, profile or host name of a node contain every typed word. */
export function matchesWords(node: NodeRow, typed: string): boolean {
  const text = [
    node.name,
    node.facts.gpu ?? "",
    node.facts.hostname,
    node.profileName ?? "",
    ...Object.values(node.facts.labels),
    ...node.runs.map((run) => run.run),
  ]
    .join("\n")
    .toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Returns the GPU that the node detected, or the one in its label. */
export const gpuOf = (facts: Pick<NodeRow["facts"], "gpu" | "labels">): string | null =>
  facts.gpu ?? facts.labels["gpu"] ?? null;

/** Shortens `Linux 6.18.44-cloud-amd64` to `Linux 6.18`. */
export const systemOf = (platform: string): string => /^\S+ \d+\.\d+/.exec(platform)?.[0] ?? platform;

/** Returns the line under a node's name: `RTX 4090 · us-east`. */
export function nodeFactsLine(node: Pick<NodeRow, "facts">): string {
  const { labels, cpus, platform } = node.facts;
  const region = labels["region"];
  return [
    gpuOf(node.facts) ?? `${cpus} ${cpus === 1 ? "CPU" : "CPUs"}, ${systemOf(platform)}`,
    ...(region === undefined ? [] : [region]),
  ].join(" · ");
}

/** Returns the text shown when no node matches a filter, phrased as good news where it is. */
export function matchesNothing(filter: NodeFilter): string {
  switch (filter) {
    case "all":
      return "No node is active.";
    case "risk":
      return "No node is falling behind, and none is offline with unsaved work.";
    case "moving":
      return "No node is uploading now.";
    case "unconfirmed":
      return "Every node that should report does.";
    case "silent":
      return "No node is silent.";
    case "offline":
      return "No node is offline.";
    case "revoked":
      return "No node was revoked.";
  }
}
