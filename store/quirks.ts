/**
 * Quirks: named departures from AWS's behavior, set at start, which imitate other providers. Without quirks the store
 * behaves like AWS. A provider's name enables all its known departures (see strict-profiles.ts); further names add to
 * them.
 */
import { STRICT_PROFILES } from "./strict-profiles.ts";

/** The departures from AWS's behavior. Sizes in bytes. */
export type Quirks = {
  /** R2: all parts but the last must have equal sizes, or Complete answers InvalidPart. */
  readonly equalParts: "on" | "off";
  /** Scaleway: maximum number of parts. */
  readonly maxParts: number;
  /** Smallest size of a part other than the last. */
  readonly minPartBytes: number;
  /** B2: any x-amz-checksum-* or x-amz-sdk-checksum-algorithm header is refused, with this error. */
  readonly rejectChecksums: ChecksumRefusal | "off";
  /** Older gateways: such headers are ignored and absent from answers. */
  readonly ignoreChecksums: "on" | "off";
  /** Content-MD5 is refused. */
  readonly rejectMd5: "on" | "off";
  /** Many providers: aws-chunked bodies are refused. */
  readonly rejectChunked: "on" | "off";
  /** Never answers `Expect: 100-continue`. */
  readonly noContinue: "on" | "off";
  /** Closes idle connections after this time, ms. */
  readonly keepAliveMs: number;
  /** Does not announce that time in a Keep-Alive header, as most front ends do not. */
  readonly hideKeepAlive: "on" | "off";
  /** GCS: If-Match and If-None-Match on writes are ignored. */
  readonly ignoreConditions: "on" | "off";
  /** GCS: a signed Accept-Encoding header or an x-id query is answered SignatureDoesNotMatch. */
  readonly strictSigning: "on" | "off";
  /** Storj: GET with partNumber is refused. */
  readonly noPartNumber: "on" | "off";
  /** Storj: a listing with a prefix ending in a slash comes back in reverse order within each page. */
  readonly unorderedListing: "on" | "off";
  /** Storj: open uploads are listed only under prefixes that end in a slash. */
  readonly slashPrefixes: "on" | "off";
  /** Storj: maximum size of user metadata. */
  readonly maxMetadataBytes: number;
  /** R2: least time between two writes of a key, ms; an earlier one is answered 429. */
  readonly writeGapMs: number;
  /** Some gateways: ETags are not MD5s. */
  readonly opaqueEtags: "on" | "off";
  /** Storj, GCS: the CORS API is missing. */
  readonly noCorsApi: "on" | "off";
  /** Only this region is accepted in a signature. */
  readonly region: string | undefined;
};

/** `argument`: 400 InvalidArgument (B2). `not-implemented`: 501 (older R2, MinIO). `signature`: 403 (GCS). */
export type ChecksumRefusal = "argument" | "not-implemented" | "signature";

const DEFAULTS: Quirks = {
  equalParts: "off",
  maxParts: 10_000,
  minPartBytes: 5 * 1024 * 1024,
  rejectChecksums: "off",
  ignoreChecksums: "off",
  rejectMd5: "off",
  rejectChunked: "off",
  noContinue: "off",
  keepAliveMs: 65_000,
  hideKeepAlive: "off",
  ignoreConditions: "off",
  strictSigning: "off",
  noPartNumber: "off",
  unorderedListing: "off",
  slashPrefixes: "off",
  maxMetadataBytes: 2048,
  writeGapMs: 0,
  opaqueEtags: "off",
  noCorsApi: "off",
  region: undefined,
};

const SWITCHES = {
  "equal-parts": "equalParts",
  "ignore-checksums": "ignoreChecksums",
  "reject-md5": "rejectMd5",
  "reject-chunked": "rejectChunked",
  "no-continue": "noContinue",
  "hide-keep-alive": "hideKeepAlive",
  "ignore-conditions": "ignoreConditions",
  "strict-signing": "strictSigning",
  "no-part-number": "noPartNumber",
  "unordered-listing": "unorderedListing",
  "slash-prefixes": "slashPrefixes",
  "opaque-etags": "opaqueEtags",
  "no-cors-api": "noCorsApi",
} as const;

const NUMBERS = {
  "max-parts": "maxParts",
  "min-part-bytes": "minPartBytes",
  "keep-alive-ms": "keepAliveMs",
  "max-metadata-bytes": "maxMetadataBytes",
  "write-gap-ms": "writeGapMs",
} as const;

const REFUSALS: Readonly<Record<string, ChecksumRefusal>> = {
  argument: "argument",
  "not-implemented": "not-implemented",
  signature: "signature",
};

function named<T extends object>(table: T, name: string): T[keyof T] | undefined {
  return Object.hasOwn(table, name) ? table[name as keyof T] : undefined;
}

/** Returns the quirks that one word of the list sets; undefined for an unknown word. */
function readPiece(piece: string): Partial<Quirks> | undefined {
  const [name = "", value] = piece.split("=");
  const profile = named(STRICT_PROFILES, name);
  if (profile !== undefined && value === undefined) return profile;
  const toggle = named(SWITCHES, name);
  if (toggle !== undefined && value === undefined) return { [toggle]: "on" };
  const number = named(NUMBERS, name);
  if (number !== undefined && /^\d+$/.test(value ?? "")) return { [number]: Number(value) };
  if (name === "reject-checksums") {
    const refusal = named(REFUSALS, value ?? "argument");
    return refusal === undefined ? undefined : { rejectChecksums: refusal };
  }
  return name === "region" && value !== undefined && value !== "" ? { region: value } : undefined;
}

/** Parses `b2,no-continue,max-parts=1000,...`; returns a sentence for an unknown name or value. */
export function readQuirks(text: string): { readonly quirks: Quirks } | { readonly problem: string } {
  let quirks = DEFAULTS;
  for (const piece of text.split(",").map((part) => part.trim())) {
    if (piece === "") continue;
    const read = readPiece(piece);
    if (read === undefined) {
      const switches = Object.keys(SWITCHES).join(", ");
      const numbers = [...Object.keys(NUMBERS), "region"].map((known) => `${known}=VALUE`).join(", ");
      const profiles = Object.keys(STRICT_PROFILES).join(", ");
      return {
        problem: `The quirk "${piece}" is not known. Use one of: ${switches}, ${numbers}, reject-checksums or reject-checksums=${Object.keys(REFUSALS).join("|")}; or a provider: ${profiles}.`,
      };
    }
    quirks = { ...quirks, ...read };
  }
  return { quirks };
}
