import type { Finding } from "#protocol/alerts/advice.ts";
import { byLink, rateOf, unasked, type LinkRow } from "./link-row.ts";
import { medianOf, superiorityOf } from "#protocol/base/robust.ts";

const MIB = 1024 * 1024;
/** Smaller uploads end before the part size has an effect. */
const LEAST_SIZE_BYTES = 64 * MIB;
/** Least uploads with each value, and least nodes that they come from. */
export const LEAST = 20;
const LEAST_NODES = 3;
const TIMES = 1.15;
const SURE = 0.6;

interface Upload {
  profileId: string;
  node: number;
  /** Rate divided by the median rate of the same node and bucket, so that a fast node does not make its setting look good. */
  relative: number;
  rate: number;
  partBytes: number;
  connections: number;
}

/**
 * Finds part sizes and numbers of connections that upload faster to a bucket than the value that most uploads use. Compares
 * each upload with the median of its own node, so that a fast node does not make its setting look good. Where all transfers of
 * a bucket use the same value, compares benchmark cases of one node that differ in nothing else.
 */
export function findBestSizes(rows: readonly LinkRow[]): Finding[] {
  const own = Map.groupBy(uploadsOf(unasked(rows), ""), ({ profileId }) => profileId);
  const cases = rows.filter(({ benchmark }) => benchmark !== null);
  const ids = new Set(rows.map(({ profileId }) => profileId));
  return KINDS.flatMap((kind) => {
    const tried = Map.groupBy(uploadsOf(cases, kind), ({ profileId }) => profileId);
    return [...ids].flatMap((profileId) => {
      const transfers = own.get(profileId) ?? [];
      const settings = settingsOf(transfers, kind);
      const about = { profileId, kind };
      if (settings.length > 1) return better(settings, { ...about, used: mostOf(settings), first: "most used" });
      // The value in use, however few transfers show it, must be among the benchmarked values.
      const [inUse] = mostUsed(transfers, kind);
      const others = settingsOf(tried.get(profileId) ?? [], kind);
      const used = inUse === undefined ? mostOf(others) : others.find(({ value }) => value === inUse);
      const first = inUse === undefined ? "tried most" : "most used";
      return better(others, { ...about, used, first, source: "cases" });
    });
  });
}

const KINDS = ["part-size", "connections"] as const;
type Kind = (typeof KINDS)[number];
const valueOf = (upload: Pick<Upload, "partBytes" | "connections">, kind: Kind): number =>
  kind === "part-size" ? upload.partBytes : upload.connections;

/**
 * Returns uploads with their rate relative to the median of their own link. `varied` limits the median to benchmark cases with
 * the same size and the same value of the other setting; "" compares all uploads of a link.
 */
function uploadsOf(rows: readonly LinkRow[], varied: Kind | ""): Upload[] {
  return [...byLink(rows).values()].flatMap((link) => {
    const uploads = link.flatMap((row) => {
      const rate = rateOf(row, "up");
      const { partBytes, connections, kind, sizeBytes } = row;
      const isLong = kind === "upload" && sizeBytes !== null && sizeBytes >= LEAST_SIZE_BYTES;
      return isLong && rate !== null && partBytes !== null && connections !== null
        ? [{ row, rate, partBytes: nearPower(partBytes), connections: nearPower(connections), sizeBytes }]
        : [];
    });
    const alike = Map.groupBy(uploads, (upload) =>
      varied === "" ? "" : `${upload.sizeBytes} ${varied === "part-size" ? upload.connections : upload.partBytes}`,
    );
    return [...alike.values()].flatMap((group) => {
      // Cases that all have the same value say nothing about it.
      if (varied !== "" && new Set(group.map((upload) => valueOf(upload, varied))).size < 2) return [];
      const usual = medianOf(group.map(({ rate }) => rate));
      if (!(usual > 0)) return [];
      return group.map(({ row: { node, profileId }, rate, partBytes, connections }) => ({
        profileId,
        node,
        rate,
        partBytes,
        connections,
        relative: rate / usual,
      }));
    });
  });
}

/** Rounds to the nearest power of two, so that similar values count as one. */
const nearPower = (value: number): number => 2 ** Math.round(Math.log2(Math.max(1, value)));

interface Setting {
  value: number;
  count: number;
  nodes: ReadonlySet<number>;
  relatives: number[];
  relative: number;
}

/** Returns the values with enough uploads from enough nodes. */
const settingsOf = (uploads: readonly Upload[], kind: Kind): Setting[] =>
  [...Map.groupBy(uploads, (upload) => valueOf(upload, kind)).entries()]
    .map(([value, own]) => {
      const relatives = own.map(({ relative }) => relative);
      const nodes = new Set(own.map(({ node }) => node));
      return { value, count: own.length, nodes, relatives, relative: medianOf(relatives) };
    })
    .filter(({ count, nodes }) => count >= LEAST && nodes.size >= LEAST_NODES);

/** Returns the setting with the most uploads; in a tie the slower one, so that the faster one can be advised. */
const mostOf = (settings: readonly Setting[]): Setting | undefined =>
  settings.toSorted((a, b) => b.count - a.count || a.relative - b.relative)[0];

const mostUsed = (uploads: readonly Upload[], kind: Kind): number[] =>
  [...Map.groupBy(uploads, (upload) => valueOf(upload, kind)).entries()]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([value]) => value);

function better(
  settings: readonly Setting[],
  about: { profileId: string; kind: Kind; used: Setting | undefined; first: string; source?: "cases" },
): Finding[] {
  const { profileId, kind, used, first, source } = about;
  const best = settings.toSorted((a, b) => b.relative - a.relative)[0];
  if (used === undefined || best === undefined || best === used || best.relative < used.relative * TIMES) return [];
  if (superiorityOf(best.relatives, used.relatives) < SURE) return [];
  const isParts = kind === "part-size";
  const as = isParts ? ("bytes" as const) : ("count" as const);
  const samples = used.count + best.count;
  return [
    {
      kind,
      node: null,
      profileId,
      region: null,
      way: "up",
      run: null,
      betterId: null,
      better: isParts ? { partBytes: best.value } : { connections: best.value },
      facts: [
        { label: first, value: used.value, as },
        { label: "fastest", value: best.value, as },
        { label: "faster, each compared with its own node", value: best.relative / used.relative, as: "times" },
        { label: "uploads with the first", value: used.count, as: "count" },
        { label: "uploads with the second", value: best.count, as: "count" },
      ],
      samples,
      least: 2 * LEAST,
      ofBenchmarks: source === "cases" ? samples : 0,
      nodes: new Set([...used.nodes, ...best.nodes]).size,
    },
  ];
}
