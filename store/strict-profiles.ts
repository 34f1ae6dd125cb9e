/**
 * Providers as sets of quirks: each at least as strict as the provider where it matters to clients. `strictest` combines
 * nearly all quirks: no provider is like it, but any client should work with it.
 */
import type { Quirks } from "./quirks.ts";

export const STRICT_PROFILES = {
  aws: {},
  // Equal parts; one write per second and key; more metadata.
  r2: { equalParts: "on", rejectChunked: "on", maxMetadataBytes: 8192, writeGapMs: 1000 },
  // Checksum headers are refused by name.
  b2: { rejectChecksums: "argument", rejectChunked: "on" },
  // Listings are unordered, and parts cannot be read by number.
  storj: {
    ignoreChecksums: "on",
    ignoreConditions: "on",
    noPartNumber: "on",
    unorderedListing: "on",
    slashPrefixes: "on",
    noCorsApi: "on",
  },
  wasabi: { ignoreChecksums: "on", ignoreConditions: "on" },
  // A checksum header, a signed accept-encoding or an x-id makes the signature invalid.
  gcs: {
    rejectChecksums: "signature",
    ignoreConditions: "on",
    strictSigning: "on",
    rejectChunked: "on",
    noCorsApi: "on",
  },
  spaces: { rejectChunked: "on", ignoreConditions: "on", writeGapMs: 1000 },
  minio: {},
  // A cluster older than Ceph's checksums and conditional writes.
  ceph: { ignoreChecksums: "on", ignoreConditions: "on", rejectChunked: "on" },
  seaweedfs: { opaqueEtags: "on" },
  garage: { ignoreConditions: "on", rejectChunked: "on" },
  tigris: { rejectChunked: "on" },
  scaleway: { maxParts: 1000, rejectChunked: "on", ignoreConditions: "on" },
  strictest: {
    equalParts: "on",
    maxParts: 1000,
    rejectChecksums: "not-implemented",
    rejectChunked: "on",
    noContinue: "on",
    keepAliveMs: 1000,
    hideKeepAlive: "on",
    ignoreConditions: "on",
    strictSigning: "on",
    noPartNumber: "on",
    unorderedListing: "on",
    slashPrefixes: "on",
    opaqueEtags: "on",
    noCorsApi: "on",
    maxMetadataBytes: 1024,
  },
} as const satisfies Readonly<Record<string, Partial<Quirks>>>;
