/**
 * Applies quirks to a request's headers in one place, before any operation sees them. Also finds request features that
 * careful clients do not send to an unknown store.
 */
import type { Quirks } from "./quirks.ts";
import type { S3Request } from "./request.ts";
import { S3Error } from "./s3-error.ts";

const isChecksumHeader = (name: string): boolean =>
  name.startsWith("x-amz-checksum-") || name === "x-amz-sdk-checksum-algorithm" || name === "x-amz-trailer";

const wrongSignature = (): S3Error =>
  new S3Error(
    "SignatureDoesNotMatch",
    "The request signature we calculated does not match the signature you provided.",
  );

/** Returns the names of the signed headers, from either form of signature. */
function signedNames(head: S3Request): readonly string[] {
  const inHeader = /SignedHeaders=([^,]*)/.exec(head.headers.get("authorization") ?? "")?.[1];
  return (inHeader ?? head.query.get("X-Amz-SignedHeaders") ?? "").split(";");
}

/** Refuses some requests before their signature is verified. Throws SignatureDoesNotMatch. */
export function checkStrictSigning(quirks: Quirks, head: S3Request): void {
  if (quirks.strictSigning === "off") return;
  if (head.query.has("x-id") || signedNames(head).includes("accept-encoding")) throw wrongSignature();
}

function refuseChecksum(quirks: Quirks, header: string): S3Error {
  switch (quirks.rejectChecksums) {
    case "signature":
      return wrongSignature();
    case "not-implemented":
      return new S3Error("NotImplemented", "A header you provided implies functionality that is not implemented.", {
        fields: { Header: header },
      });
    default:
      return new S3Error("InvalidArgument", `Unsupported header '${header}' received for this API call.`);
  }
}

/**
 * Returns the headers that operations see. `headers` belong to a request with a valid signature. Throws InvalidArgument,
 * NotImplemented or SignatureDoesNotMatch where a quirk refuses one.
 */
export function headersUnderQuirks(quirks: Quirks, headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const checksum = [...headers.keys()].find(isChecksumHeader);
  if (quirks.rejectChecksums !== "off" && checksum !== undefined) throw refuseChecksum(quirks, checksum);
  if (quirks.rejectMd5 === "on" && headers.has("content-md5")) {
    throw new S3Error("NotImplemented", "A header you provided implies functionality that is not implemented.", {
      fields: { Header: "Content-MD5" },
    });
  }
  if (quirks.ignoreChecksums === "off" || checksum === undefined) return headers;
  return new Map([...headers].filter(([name]) => !isChecksumHeader(name)));
}

/** Returns the names of request features that some stores refuse, wait for, or fail on. */
export function riskyPartsOf(head: S3Request): readonly string[] {
  const { headers, query } = head;
  const found: string[] = [];
  for (const name of ["expect", "transfer-encoding", "x-amz-trailer", "x-amz-sdk-checksum-algorithm"]) {
    if (headers.has(name)) found.push(name);
  }
  if (/aws-chunked/i.test(headers.get("content-encoding") ?? "")) found.push("aws-chunked");
  if (query.has("x-id")) found.push("x-id");
  if (signedNames(head).includes("accept-encoding")) found.push("signed accept-encoding");
  if (query.has("partNumber") && head.method === "GET") found.push("GET by part number");
  return found;
}
