import { ENGINE_NAMES, type BenchDirection, type EngineName } from "#protocol/benchmarks/engines.ts";
import type { ExportedCase } from "./exported-cases.ts";

/**
 * Failures counted from the store's side. It keeps which requests it let fail, and the name of what each was for; whether
 * a case counts as failed is then compared with what that case met. As in the guide nobody tries a case again; what an
 * engine tries again by itself is its own affair.
 */

/** A request that the store let fail. */
export interface FailedRequest {
  /** When it was answered, by the clock of store and hub, which share a machine. */
  atMs: number;
  key: string;
  /** Whether the store said that it is for now only (503) or for good (403). */
  kind: "temporary" | "final";
}

/** A turn of the benchmark: the folder of a turn is named by its id. */
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
  /** Cases that met at least one failing request, and how many of those came through all the same. */
  met: number;
  survived: number;
  /** Failed although the store let none of its requests fail. */
  withoutCause: number;
  temporary: number;
  final: number;
}

/** One row for each engine and direction at the failing store. */
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
 * An upload's key names its engine. All downloads of a turn fetch one object, so there the time says whose request it was:
 * a node runs one case after the other, so it belongs to the first one that was told after it.
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
