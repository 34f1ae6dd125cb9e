import { cutEvenly, partBytesThatFit, planParts, type PlannedPart } from "#storage/s3/plan.ts";
import type { ObjectSum } from "#storage/checksums/crc32.ts";
import type { Engine } from "../transfer/engine.ts";

/**
 * Facts about an object before it is fetched, from which its expected checksum follows. That is the CRC32 of the object, the
 * composite CRC32 of its parts (the download is then cut at the parts), or the MD5 or MD5 of MD5s that most stores use as
 * the ETag. The CRC32 takes a HEAD, which listed small objects do without where the MD5 suffices.
 */
export interface ObjectFacts {
  sizeBytes: number;
  etag: string;
  modifiedAtMs: number | null;
  sum: ObjectSum | null;
  /** Encrypted with its own key (SSE-KMS or SSE-C), so that the ETag is no MD5. */
  isOpaque: boolean;
}

/** Requests about one object. @throws Faults of the store, CANCELLED */
export interface AskObject {
  /** @throws Fault OBJECT_ARCHIVED, OBJECT_BEING_RESTORED */
  head(key: string): Promise<ObjectFacts>;
  /** Returns the length of its first part; null where the store does not tell. */
  partBytes(key: string): Promise<number | null>;
  /** Returns all parts with their checksums, in order; null where the store does not tell. */
  partSums(key: string): Promise<PartSum[] | null>;
}

export interface PartSum {
  length: number;
  /** Hex. */
  crc32: string;
}

export type Expected =
  | { kind: "whole"; crc32: string }
  /** CRC32 over the CRC32s of the parts. */
  | { kind: "parts"; crc32: string }
  | { kind: "md5"; md5: string }
  /** MD5 over the MD5s of the parts. */
  | { kind: "md5-parts"; md5: string }
  | { kind: "nothing" };

export interface FileFacts {
  sizeBytes: number;
  etag: string;
  modifiedAtMs: number | null;
  /** Left out when no HEAD was made, as for a listed object. */
  sum?: ObjectSum | null;
  isOpaque?: boolean;
  mayBeArchived?: true;
}

export interface DownloadPlan extends FileFacts {
  parts: PlannedPart[];
  expected: Expected;
}

export interface Planner {
  plan(key: string, known: FileFacts | null): Promise<DownloadPlan>;
  /** Tells whether a listed small object can be planned without a request, so that its plan may be made later. */
  isPlain(known: FileFacts): boolean;
  /** Plans an object for which `isPlain` was true, without a request. */
  planPlain(known: FileFacts): DownloadPlan;
  /** Tells that an ETag that looks like an MD5 is none, so that ETags are not trusted any more. */
  distrustMd5(): void;
}

/** MD5 takes more CPU time than the rest of a fetch, so larger objects are not compared by MD5. */
const MOST_MD5_BYTES = 64 * 1024 * 1024;
/** Objects up to this size are a single piece, because only the last part of an upload may be shorter. */
const MOST_PLAIN_BYTES = 1024 * 1024;
/** After this many HEADs in a row without a checksum, listed objects get no HEAD any more. */
const MOST_IN_VAIN = 8;

/** MD5 of an ETag; with `partCount` the MD5 over the MD5s of that many parts. */
interface Md5 {
  md5: string;
  partCount: number | null;
}

/** Creates a planner, whose `plan` throws Faults of the store and CANCELLED. */
export function createPlanner(
  engine: Pick<Engine, "traits">,
  about: { ask: AskObject; partBytes: number | null; mostMd5Bytes?: number },
): Planner {
  const { ask } = about;
  let trustsMd5 = true;
  let inVain = 0;

  const mostMd5Bytes = about.mostMd5Bytes ?? MOST_MD5_BYTES;

  const md5In = ({ etag, sizeBytes, isOpaque }: FileFacts): Md5 | null => {
    if (isOpaque === true || sizeBytes > mostMd5Bytes) return null;
    const [, md5, count] = /^"([0-9a-f]{32})(?:-([1-9]\d{0,4}))?"$/.exec(etag) ?? [];
    return md5 === undefined ? null : { md5, partCount: count === undefined ? null : Number(count) };
  };
  const md5Of = (facts: FileFacts): Md5 | null => (trustsMd5 ? md5In(facts) : null);
  const isWorthAsking = (known: FileFacts): boolean =>
    known.mayBeArchived === true ||
    (known.sum === undefined && known.sizeBytes > 0 && md5Of(known)?.partCount !== null && inVain < MOST_IN_VAIN);
  const factsOf = async (key: string, known: FileFacts | null): Promise<FileFacts> => {
    if (known !== null && !isWorthAsking(known)) return known;
    const facts = await ask.head(key);
    inVain = facts.sum === null ? inVain + 1 : 0;
    return facts;
  };
  const evenly = (sizeBytes: number): PlannedPart[] =>
    planParts({
      sizeBytes,
      traits: engine.traits,
      ...(about.partBytes === null ? {} : { requestedPartBytes: about.partBytes }),
    }).parts;
  /** Returns the parts in which the object was uploaded; null when their length cannot be found out. */
  const cutAsSent = async (key: string, sizeBytes: number, partCount: number): Promise<PlannedPart[] | null> => {
    const told = partBytesThatFit(sizeBytes, partCount) ?? (await ask.partBytes(key));
    return told === null || Math.ceil(sizeBytes / told) !== partCount ? null : cutEvenly(sizeBytes, told);
  };
  const follow = async (
    key: string,
    facts: FileFacts,
  ): Promise<{ parts: PlannedPart[]; expected: Expected } | null> => {
    const { sum, sizeBytes } = facts;
    const known = sum ?? md5Of(facts);
    if (known === null || known.partCount === null) return null;
    const parts = await cutAsSent(key, sizeBytes, known.partCount);
    if (parts === null) return null;
    const expected: Expected =
      "md5" in known ? { kind: "md5-parts", md5: known.md5 } : { kind: "parts", crc32: known.crc32 };
    return { parts, expected };
  };
  const planEvenly = (facts: FileFacts, sent: Md5 | null): DownloadPlan => {
    const { sizeBytes, sum } = facts;
    const parts = evenly(sizeBytes);
    if (sizeBytes === 0) return { ...facts, parts, expected: { kind: "whole", crc32: "00000000" } };
    if (sum?.partCount === null) return { ...facts, parts, expected: { kind: "whole", crc32: sum.crc32 } };
    const isOne = sent !== null && sent.partCount === null;
    return { ...facts, parts, expected: isOne ? { kind: "md5", md5: sent.md5 } : { kind: "nothing" } };
  };
  return {
    plan: async (key, known) => {
      const facts = await factsOf(key, known);
      const followed = await follow(key, facts);
      return followed === null ? planEvenly(facts, md5Of(facts)) : { ...facts, ...followed };
    },
    isPlain: (known) => {
      const { sizeBytes, sum } = known;
      if (known.mayBeArchived === true) return false;
      const isOne = sum === undefined && (sizeBytes === 0 || md5Of(known)?.partCount === null);
      return isOne && sizeBytes <= MOST_PLAIN_BYTES;
    },
    // Expects an MD5 even after `distrustMd5`, because `isPlain` was decided while ETags were trusted.
    planPlain: (known) => planEvenly(known, md5In(known)),
    distrustMd5: () => {
      trustsMd5 = false;
    },
  };
}
