import { ENGINE_NAMES, type BenchDirection, type EngineName } from "#protocol/benchmarks/engines.ts";
import type { ExportedCase } from "./exported-cases.ts";

/**
 * Counts failures from the store's side. The store logs which requests it failed, with their keys; these are compared with the
 * cases that failed. As in the guide, no case is repeated; an engine may retry by itself.
 */

/** A request that the store failed on purpose. */
export interface FailedRequest {
  /** Epoch ms of the answer, by the clock of store and hub, which share a machine. */
  atMs: number;
  key: string;
  /** Whether the store answered with a temporary error (503) or a final one (403). */
  kind: "temporary" | "final";
}

/** A turn of the benchmark; its id is the name of its folder. */
export interface Turn {
  id: string;
  nodeName: string;
  profileName: string;
}

export interface FailureCount {
  engine: EngineName;
  direction: BenchDirection;
  cases: number;
  failed: number;
  /** Cases that met at least one failed request, and how many of those succeeded. */
  met: number;
  survived: number;
  /** Failed although the store failed none of their requests. */
  withoutCause: number;
  temporary: number;
  final: number;
}

/** Returns one row for each engine and direction at the failing store. */
export function countFailures(
  rows: readonly ExportedCase[],
  about: { store: string; requests: readonly FailedRequest[]; turns: readonly Turn[] },
): FailureCount[] {
  const { store, turns } = about;
  const own = rows.filter((row) => row.store === store);
  const met = new Map<ExportedCase, FailedRequest[]>(own.map((row) => [row, []]));
  for (const request of about.requests) {
    const turn = turns.find(({ id, profileName }) => profileName === store && request.key.includes(id));
    if (turn === undefined) continue;
    const row = caseOf(
      own.filter(({ node }) => node === turn.nodeName),
      request,
    );
    if (row !== undefined) met.get(row)?.push(request);
  }
  const groups = Map.groupBy(own, ({ engine, direction }) => `${engine} ${direction}`);
  return ENGINE_NAMES.flatMap((engine) =>
    (["up", "down"] as const).flatMap((direction) => {
      const group = groups.get(`${engine} ${direction}`);
      return group === undefined ? [] : [countOf(group, { engine, direction, met })];
    }),
  );
}

/**
 * Returns the case that a failed request belongs to. The key of an upload names its engine. All downloads of a turn fetch one
 * object, so time decides: a node runs one case after the other, so the request belongs to the first case that was reported
 * after it.
 */
function caseOf(rows: readonly ExportedCase[], { key, atMs }: FailedRequest): ExportedCase | undefined {
  const [, engine] = /([^/]+)-\d+$/.exec(key) ?? [];
  if (engine !== undefined) return rows.find((row) => row.direction === "up" && row.engine === engine);
  const running = rows.filter((row) => row.atMs >= atMs).toSorted((a, b) => a.atMs - b.atMs)[0];
  return running?.direction === "down" ? running : undefined;
}

function countOf(
  group: readonly ExportedCase[],
  about: {
    engine: EngineName;
    direction: BenchDirection;
    met: ReadonlyMap<ExportedCase, readonly FailedRequest[]>;
  },
): FailureCount {
  const { engine, direction, met } = about;
  const requestsOf = (row: ExportedCase): readonly FailedRequest[] => met.get(row) ?? [];
  const failed = group.filter(({ bytesPerSecond }) => bytesPerSecond === null);
  const hit = group.filter((row) => requestsOf(row).length > 0);
  const all = group.flatMap(requestsOf);
  return {
    engine,
    direction,
    cases: group.length,
    failed: failed.length,
    met: hit.length,
    survived: hit.filter(({ bytesPerSecond }) => bytesPerSecond !== null).length,
    withoutCause: failed.filter((row) => requestsOf(row).length === 0).length,
    temporary: all.filter(({ kind }) => kind === "temporary").length,
    final: all.filter(({ kind }) => kind === "final").length,
  };
}
