import type { CheckpointRow } from "#protocol/wire/views.ts";

/** Paths of the pages of a hub that has a checkpoint, without the parts of pages that a story names itself. */
export const screensOf = ({ id, nodeId, run }: Pick<CheckpointRow, "id" | "nodeId" | "run">): string[] => [
  "/",
  "/nodes",
  `/nodes/${nodeId}`,
  "/runs",
  `/runs/${run}`,
  `/checkpoints/${id}`,
  `/compare?to=${id}`,
  "/adopt",
  "/losses",
  "/transfers",
  "/buckets",
  "/alerts",
  "/advice",
  "/benchmarks",
  "/events",
  "/settings",
  "/settings?show=people",
  "/settings?show=audit",
];
