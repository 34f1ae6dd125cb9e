/**
 * Why: providers differ, and a client that works on one must be seen to work on the odd ones too. Promise: without
 * quirks the store behaves like AWS; each quirk is one named departure, set at start.
 */

/** The departures from AWS's behaviour. Sizes in bytes. */
export type Quirks = {
  /** R2: all parts but the last must have one size, or Complete answers InvalidPart. */
  readonly equalParts: "on" | "off";
  /** Scaleway: at most so many parts. */
  readonly maxParts: number;
  /** Smallest size of a part that is not the last. */
  readonly minPartBytes: number;
  /** B2: any x-amz-checksum-* or x-amz-sdk-checksum-algorithm header is refused. */
  readonly rejectChecksums: "on" | "off";
  /** Many providers: aws-chunked bodies are refused. */
  readonly rejectChunked: "on" | "off";
  /** Never answers `Expect: 100-continue`. */
  readonly noContinue: "on" | "off";
  /** Closes idle connections after so long. */
  readonly keepAliveMs: number;
  /** GCS: If-Match and If-None-Match on writes are ignored. */
  readonly ignoreConditions: "on" | "off";
  /** GCS: a signed Accept-Encoding header or an x-id query is answered SignatureDoesNotMatch. */
  readonly strictSigning: "on" | "off";
  /** Storj: GET with partNumber is refused. */
  readonly noPartNumber: "on" | "off";
  /** Storj: a listing with a prefix ending in a slash comes back in reverse order within each page. */
  readonly unorderedListing: "on" | "off";
  /** Storj: largest user metadata. */
  readonly maxMetadataBytes: number;
  /** Some gateways: ETags are not MD5s. */
  readonly opaqueEtags: "on" | "off";
  /** Storj, GCS: the CORS API is missing. */
  readonly noCorsApi: "on" | "off";
  /** Only this region is accepted in a signature. */
  readonly region: string | undefined;
};

const DEFAULTS: Quirks = {
  equalParts: "off",
  maxParts: 10_000,
  minPartBytes: 5 * 1024 * 1024,
  rejectChecksums: "off",
  rejectChunked: "off",
  noContinue: "off",
  keepAliveMs: 65_000,
  ignoreConditions: "off",
  strictSigning: "off",
  noPartNumber: "off",
  unorderedListing: "off",
  maxMetadataBytes: 2048,
  opaqueEtags: "off",
  noCorsApi: "off",
  region: undefined,
};

const SWITCHES = {
  "equal-parts": "equalParts",
  "reject-checksums": "rejectChecksums",
  "reject-chunked": "rejectChunked",
  "no-continue": "noContinue",
  "ignore-conditions": "ignoreConditions",
  "strict-signing": "strictSigning",
  "no-part-number": "noPartNumber",
  "unordered-listing": "unorderedListing",
  "opaque-etags": "opaqueEtags",
  "no-cors-api": "noCorsApi",
} as const;

const NUMBERS = {
  "max-parts": "maxParts",
  "min-part-bytes": "minPartBytes",
  "keep-alive-ms": "keepAliveMs",
  "max-metadata-bytes": "maxMetadataBytes",
} as const;

function named<T extends object>(table: T, name: string): T[keyof T] | undefined {
  return Object.hasOwn(table, name) ? table[name as keyof T] : undefined;
}

/** Reads `equal-parts,max-parts=1000,...`; returns a sentence when a name or a value is wrong. */
export function readQuirks(text: string): { readonly quirks: Quirks } | { readonly problem: string } {
  let quirks = DEFAULTS;
  for (const piece of text.split(",").map((part) => part.trim())) {
    if (piece === "") continue;
    const [name = "", value] = piece.split("=");
    const toggle = named(SWITCHES, name);
    const number = named(NUMBERS, name);
    if (toggle !== undefined && value === undefined) quirks = { ...quirks, [toggle]: "on" };
    else if (number !== undefined && /^\d+$/.test(value ?? "")) quirks = { ...quirks, [number]: Number(value) };
    else if (name === "region" && value !== undefined && value !== "") quirks = { ...quirks, region: value };
    else {
      const switches = Object.keys(SWITCHES).join(", ");
      const numbers = [...Object.keys(NUMBERS), "region"].map((known) => `${known}=VALUE`).join(", ");
      return { problem: `The quirk "${piece}" is not known. Use one of: ${switches}, ${numbers}.` };
    }
  }
  return { quirks };
}
