import { Fault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { quoteEtag } from "#storage/answers/check-range.ts";

/**
 * Holds all reads of an object to one version where ETags are not trusted as a condition (If-Match). Compares the ETag and
 * date of each answer with those known before. A store may report another ETag in a HEAD or a listing than in a GET. Between
 * GETs the ETags agree, or the object has changed.
 */
export interface EtagGuard {
  /** @throws Fault OBJECT_CHANGED when the answer is of another version than the answers before. */
  check(object: PinnedObject, headers: HttpAnswer["headers"]): void;
}

export interface PinnedObject {
  key: string;
  /** From a HEAD, a listing or a manifest; null when unknown. */
  etag: string | null;
  /** Epoch ms by the store's clock, from the same place. */
  modifiedAtMs?: number | null;
}

interface Version {
  etag: string | null;
  modifiedAtMs: number | null;
  /** Whether a GET has reported this ETag. */
  isSeen: boolean;
}

/** Dates in headers have whole seconds, those in listings may not, and one of the two may have been rounded up. */
const SAME_DATE_MS = 1_000;

export function createEtagGuard(): EtagGuard {
  const versions = new Map<string, Version>();
  return {
    check: (object, headers) => {
      const { key } = object;
      const known = versions.get(key) ?? {
        etag: object.etag,
        modifiedAtMs: object.modifiedAtMs ?? null,
        isSeen: false,
      };
      const found = versionOf(headers);
      if (isOther(known, found)) throw new Fault("OBJECT_CHANGED", { op: "GetObject", subject: key });
      versions.set(key, {
        etag: found.etag ?? known.etag,
        modifiedAtMs: found.modifiedAtMs ?? known.modifiedAtMs,
        isSeen: known.isSeen || found.etag !== null,
      });
    },
  };
}

function versionOf(headers: HttpAnswer["headers"]): Omit<Version, "isSeen"> {
  const etag = headers["etag"]?.trim() ?? "";
  const modifiedAtMs = Date.parse(headers["last-modified"] ?? "");
  return { etag: etag === "" ? null : quoteEtag(etag), modifiedAtMs: Number.isNaN(modifiedAtMs) ? null : modifiedAtMs };
}

function isOther(known: Version, found: Omit<Version, "isSeen">): boolean {
  const isOtherDate =
    known.modifiedAtMs !== null &&
    found.modifiedAtMs !== null &&
    Math.abs(known.modifiedAtMs - found.modifiedAtMs) > SAME_DATE_MS;
  if (known.etag === null || found.etag === null) return isOtherDate;
  // An equal ETag with another date is the same version: an object rewritten with the same bytes may keep its ETag.
  return strong(known.etag) !== strong(found.etag) && (known.isSeen || isOtherDate);
}

/** Removes the weak mark, which a proxy before the store may add to the same ETag. */
const strong = (etag: string): string => etag.replace(/^W\//, "");
