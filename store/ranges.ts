/** Parses `Range` headers as S3 does: several ranges, or a malformed header, mean the whole object. */
import { S3Error } from "./s3-error.ts";

/** Byte positions, both inclusive. */
export type ByteRange = { readonly first: number; readonly last: number };

/**
 * Returns the requested range of an object of `sizeBytes`; undefined for the whole object. Throws InvalidRange (416) when
 * the range starts past the end. Source: RFC 9110 section 14.
 */
export function readRange(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? "");
  if (match === null) return undefined;
  const [, start = "", end = ""] = match;
  if (start === "" && end === "") return undefined;
  const unsatisfiable = (): S3Error =>
    new S3Error("InvalidRange", "The requested range is not satisfiable", {
      fields: { RangeRequested: header ?? "", ActualObjectSize: String(sizeBytes) },
      headers: { "content-range": `bytes */${sizeBytes}` },
    });
  if (start === "") {
    const suffixBytes = Number(end);
    if (suffixBytes === 0 || sizeBytes === 0) throw unsatisfiable();
    return { first: Math.max(0, sizeBytes - suffixBytes), last: sizeBytes - 1 };
  }
  const first = Number(start);
  const last = end === "" ? sizeBytes - 1 : Math.min(Number(end), sizeBytes - 1);
  if (end !== "" && Number(end) < first) return undefined;
  if (first >= sizeBytes) throw unsatisfiable();
  return { first, last };
}
