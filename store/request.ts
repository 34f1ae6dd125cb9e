/** An incoming request as handlers see it: decoded names, joined headers, no socket. */
import { S3Error } from "./s3-error.ts";

/** The parts of a request that determine its meaning. Header names are lower case; query values are decoded. */
export type S3Request = {
  readonly method: string;
  /** The path as sent, undecoded, without the query. */
  readonly rawPath: string;
  readonly rawQuery: string;
  readonly bucket: string | undefined;
  readonly key: string | undefined;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: ReadonlyMap<string, string>;
};

/** Request line and headers as an HTTP library provides them. */
export type RequestHead = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  /** Domain below which the host name is the bucket. */
  readonly domain?: string | undefined;
};

const MAX_KEY_BYTES = 1024;

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new S3Error("InvalidURI", "Couldn't parse the specified URI.");
  }
}

/** Decodes a raw query into pairs in the order sent; a plus sign is a space, as on S3. */
export function queryPairs(rawQuery: string): readonly (readonly [string, string])[] {
  if (rawQuery === "") return [];
  return rawQuery
    .split("&")
    .filter((piece) => piece !== "")
    .map((piece) => {
      const equals = piece.indexOf("=");
      const name = equals < 0 ? piece : piece.slice(0, equals);
      const value = equals < 0 ? "" : piece.slice(equals + 1);
      return [decode(name.replaceAll("+", "%20")), decode(value.replaceAll("+", "%20"))] as const;
    });
}

/** Returns the bucket in a host name `bucket.domain[:port]`, or undefined. */
function bucketInHost(head: RequestHead): string | undefined {
  const host = head.headers["host"]?.[0]?.toLowerCase().replace(/:\d+$/, "");
  if (head.domain === undefined || host?.endsWith(`.${head.domain}`) !== true) return undefined;
  return host.slice(0, -head.domain.length - 1);
}

/**
 * Parses `/bucket/key?query`, or `/key?query` when the host names the bucket. Repeated headers are joined with commas, as
 * SigV4 requires. Throws InvalidURI or KeyTooLongError.
 */
export function readRequest(head: RequestHead): S3Request {
  const question = head.url.indexOf("?");
  const rawPath = question < 0 ? head.url : head.url.slice(0, question);
  const rawQuery = question < 0 ? "" : head.url.slice(question + 1);
  const path = decode(rawPath).replace(/^\//, "");
  const slash = path.indexOf("/");
  const hosted = bucketInHost(head);
  const bucket = hosted ?? (slash < 0 ? path : path.slice(0, slash));
  const rest = slash < 0 ? "" : path.slice(slash + 1);
  const key = hosted === undefined ? rest : path;
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) throw new S3Error("KeyTooLongError", "Your key is too long.");
  if (key.includes("\u0000")) throw new S3Error("InvalidURI", "A key cannot hold a NUL character.");
  const headers = new Map<string, string>();
  for (const [name, values] of Object.entries(head.headers)) {
    if (values !== undefined) headers.set(name.toLowerCase(), values.join(","));
  }
  return {
    method: head.method,
    rawPath,
    rawQuery,
    bucket: bucket === "" ? undefined : bucket,
    key: key === "" ? undefined : key,
    query: new Map(queryPairs(rawQuery)),
    headers,
  };
}
