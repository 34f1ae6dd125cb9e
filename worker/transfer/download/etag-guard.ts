import { Fault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { quoteEtag } from "#storage/answers/check-range.ts";

/**
 * Holds all reads of an object to one version where ETags are not trusted enough to be made a condition: each answer's
 * ETag and date are compared with those known before. A store may give an object another ETag in a HEAD or a listing
 * than in a GET; between answers to GETs they agree, or the object is another one.
 */
export interface Pins {
  /** @throws Fault OBJECT_CHANGED when the answer is of another version than the answers before. */
  check(object: PinnedObject, headers: HttpAnswer["headers"]): void;
}

export interface PinnedObject {
  key: string;
  /** From a HEAD, a listing or a manifest; null when nobody knows it. */
  etag: string | null;
  /** Epoch ms by the store's clock, from the same place. */
  modifiedAtMs?: number | null;
}

interface Version {
  etag: string | null;
  modifiedAtMs: number | null;
  /** A GET has said this ETag. */
  isSeen: boolean;
}

/** Dates in headers have whole seconds, those in listings may not, and one of the two may have been rounded up. */
const SAME_DATE_MS = 1_000;

export function createPins(): Pins {
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
  // An object that was written again with the same bytes may keep its ETag; then it does not matter.
  return strong(known.etag) !== strong(found.etag) && (known.isSeen || isOtherDate);
}

/** What stands before a store may mark an ETag as weak now and then; it is the same all the same. */
const strong = (etag: string): string => etag.replace(/^W\//, "");
