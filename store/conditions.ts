/** Checks conditional headers of reads and writes against the stored object. Source: RFC 9110 section 13. */
import { S3Error } from "./s3-error.ts";

/** The object that conditions are checked against; `etag` has no quotes. */
export type CurrentObject = { readonly etag: string; readonly modifiedMs: number };

function names(header: string, etag: string): boolean {
  return header.split(",").some((candidate) => {
    const bare = candidate.trim().replace(/^W\//, "").replaceAll('"', "");
    return bare === "*" || bare === etag;
  });
}

function failed(condition: string): S3Error {
  return new S3Error("PreconditionFailed", "At least one of the pre-conditions you specified did not hold", {
    fields: { Condition: condition },
  });
}

/** Returns whether the object changed after a date. HTTP dates have whole seconds, so the stored time is rounded down. */
function changedAfter(current: CurrentObject, httpDate: string): boolean {
  const sinceMs = Date.parse(httpDate);
  return Number.isNaN(sinceMs) || Math.floor(current.modifiedMs / 1000) * 1000 > sinceMs;
}

/**
 * Checks the conditions of a GET or HEAD, or with prefix `x-amz-copy-source-` of a copy's source. Throws
 * PreconditionFailed (412) or NotModified (304).
 */
export function checkReadConditions(
  headers: ReadonlyMap<string, string>,
  current: CurrentObject,
  prefix: "" | "x-amz-copy-source-" = "",
): void {
  const ifMatch = headers.get(`${prefix}if-match`);
  const ifNoneMatch = headers.get(`${prefix}if-none-match`);
  const ifModifiedSince = headers.get(`${prefix}if-modified-since`);
  const ifUnmodifiedSince = headers.get(`${prefix}if-unmodified-since`);
  if (ifMatch !== undefined) {
    if (!names(ifMatch, current.etag)) throw failed("If-Match");
  } else if (ifUnmodifiedSince !== undefined && changedAfter(current, ifUnmodifiedSince)) {
    throw failed("If-Unmodified-Since");
  }
  const unchanged =
    ifNoneMatch === undefined
      ? ifModifiedSince !== undefined && !changedAfter(current, ifModifiedSince)
      : names(ifNoneMatch, current.etag);
  if (!unchanged) return;
  if (prefix !== "") throw failed("If-None-Match");
  throw new S3Error("NotModified", "Not Modified", { headers: { etag: `"${current.etag}"` } });
}

/** Checks the conditions of a PUT or Complete. Throws PreconditionFailed, or NoSuchKey for If-Match on a missing object. */
export function checkWriteConditions(headers: ReadonlyMap<string, string>, current: CurrentObject | undefined): void {
  const ifMatch = headers.get("if-match");
  const ifNoneMatch = headers.get("if-none-match");
  if (ifMatch !== undefined) {
    if (current === undefined) throw new S3Error("NoSuchKey", "The specified key does not exist.");
    if (!names(ifMatch, current.etag)) throw failed("If-Match");
  }
  if (ifNoneMatch === undefined) return;
  if (ifNoneMatch.trim() !== "*") {
    throw new S3Error("NotImplemented", "A header you provided implies functionality that is not implemented", {
      fields: { Header: "If-None-Match" },
    });
  }
  if (current !== undefined) throw failed("If-None-Match");
}
