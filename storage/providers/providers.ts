import type { StoreTraits } from "#protocol/wire/operations.ts";
import type { FoundTraits } from "#protocol/wire/profiles.ts";
import { PROVIDERS, type Provider } from "#protocol/base/provider.ts";
import type { TemporaryPlace } from "#protocol/benchmarks/bench-key.ts";
import type { PresetView } from "#protocol/wire/profile-views.ts";
import { PRICES } from "./provider-prices.ts";

/**
 * What is known about each kind of store, as data: how to reach it, and what it accepts. Safe in the browser. A trait is
 * on only where the provider's own documentation or our tests say so; a wrong "no" costs a little, a wrong "yes" costs
 * an upload. The profile test shows what a store really does.
 *
 * What the strictest store asks for is done for all and needs no trait: parts are equal but the last (R2), user metadata
 * is one short nonce (Storj allows 2 KiB), nothing is sent in aws-chunked framing or with trailers (B2, Spaces, Tigris),
 * accept-encoding is never signed and `x-id` never sent (Google), a control call signs its payload's hash while the byte
 * path is presigned, which every store takes; listings ask for percent-encoded names, believe only a store that says it did so
 * (Ceph, SeaweedFS and Spaces do not always), and count on no order (Storj).
 */

export type ProviderPreset = Omit<PresetView, "provider" | "prices"> & { readonly traits: StoreTraits };

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/**
 * What every S3 has in common, and nothing more. The old Content-MD5 (some stores refuse requests that carry the newer
 * checksum headers), no conditional writes (some ignore them, which is worse than not asking), no trust in multipart
 * ETags.
 */
const PLAIN: StoreTraits = {
  minPartBytes: 5 * MIB,
  maxPartBytes: 5 * GIB,
  maxParts: 10_000,
  preferredPartBytes: 8 * MIB,
  checksum: "md5",
  probeChecksum: false,
  conditionalWrites: false,
  trustEtag: false,
  startConnections: 10,
  mostConnections: 96,
  // Servers written for Node and a few gateways close after 5 s; a connection that is opened anew costs less than one lost.
  keepAliveMs: 4000,
};

/** S3 and what implements the same: CRC32 per part, conditional PUT and Complete, stable ETags. */
const LIKE_S3: StoreTraits = { ...PLAIN, checksum: "crc32", conditionalWrites: true, trustEtag: true };

/** Fronts that are known to keep idle connections for minutes. */
const PATIENT = { keepAliveMs: 50_000 };

export const PRESETS: Readonly<Record<Provider, ProviderPreset>> = {
  aws: {
    label: "Amazon S3",
    endpointTemplate: "https://s3.{region}.amazonaws.com",
    regionHint: "The bucket's own region, for example eu-central-1.",
    defaultRegion: "us-east-1",
    addressing: "virtual-host",
    egress: "metered",
    note: "Reading out of AWS is billed per GB.",
    temporaryKeys: "https://sts.{region}.amazonaws.com",
    traits: { ...LIKE_S3, keepAliveMs: 15_000 },
  },
  r2: {
    label: "Cloudflare R2",
    endpointTemplate: "https://{account}.r2.cloudflarestorage.com",
    regionHint: "Always auto.",
    defaultRegion: "auto",
    addressing: "path",
    egress: "none",
    note: "No egress fees. Unfinished uploads are removed after 7 days.",
    temporaryKeys: "https://api.cloudflare.com/client/v4/accounts/{account}/r2/temp-access-credentials",
    // Takes CRC32 per part (composite) only, which is the form used; needs equal parts, which every plan has. How many
    // parts it likes at a time is contested, so it starts low and is let grow.
    traits: { ...LIKE_S3, ...PATIENT, startConnections: 6, mostConnections: 64 },
  },
  b2: {
    label: "Backblaze B2",
    endpointTemplate: "https://s3.{region}.backblazeb2.com",
    regionHint: "The part of the endpoint after s3., for example us-west-004.",
    defaultRegion: "us-west-004",
    addressing: "path",
    egress: "fair-use",
    note: "Use an application key, not the master key.",
    temporaryKeys: null,
    // Refuses requests with x-amz-checksum headers. Says 503 often, and means: on another connection.
    traits: { ...PLAIN, trustEtag: true, mostConnections: 64 },
  },
  storj: {
    label: "Storj",
    endpointTemplate: "https://gateway.storjshare.io",
    regionHint: "us-east-1 works everywhere.",
    defaultRegion: "us-east-1",
    addressing: "path",
    egress: "metered",
    note: "Parts of 64 MiB, the size of a segment, are the fastest. There are no CORS rules to set.",
    temporaryKeys: null,
    traits: { ...PLAIN, minPartBytes: 64 * MIB, preferredPartBytes: 64 * MIB, trustEtag: true },
  },
  wasabi: {
    label: "Wasabi",
    endpointTemplate: "https://s3.{region}.wasabisys.com",
    regionHint: "The bucket's region, for example eu-central-1.",
    defaultRegion: "us-east-1",
    addressing: "path",
    egress: "fair-use",
    note: "Objects are billed for at least 90 days. Egress is free up to what you store.",
    temporaryKeys: "https://sts.wasabisys.com",
    // Answers too many requests with 400 (see fault-codes.ts).
    traits: { ...PLAIN, trustEtag: true },
  },
  gcs: {
    label: "Google Cloud Storage",
    endpointTemplate: "https://storage.googleapis.com",
    regionHint: "auto works.",
    defaultRegion: "auto",
    addressing: "path",
    egress: "metered",
    note: "Use an HMAC key of a service account. CORS rules are set with Google's own tools.",
    temporaryKeys: null,
    // UploadPart with a checksum header fails its signature, and S3 conditions on writes are ignored.
    traits: { ...PLAIN, ...PATIENT, trustEtag: true },
  },
  spaces: {
    label: "DigitalOcean Spaces",
    endpointTemplate: "https://{region}.digitaloceanspaces.com",
    regionHint: "The datacenter, for example fra1.",
    defaultRegion: "nyc3",
    addressing: "virtual-host",
    egress: "metered",
    note: "A Space takes about 150 writes a second; Tidemark slows down by itself.",
    temporaryKeys: null,
    traits: { ...PLAIN, trustEtag: true, mostConnections: 48 },
  },
  minio: {
    label: "MinIO",
    endpointTemplate: "https://minio.example.com:9000",
    regionHint: "Whatever the server was started with; us-east-1 unless set.",
    defaultRegion: "us-east-1",
    addressing: "path",
    egress: "own",
    note: "A server of your own, or one that behaves like it.",
    temporaryKeys: "same",
    traits: LIKE_S3,
  },
  ceph: {
    label: "Ceph RGW",
    endpointTemplate: "https://rgw.example.com",
    regionHint: "Often the name of the zone group; default works for most.",
    defaultRegion: "default",
    addressing: "path",
    egress: "own",
    note: "A cluster of your own.",
    temporaryKeys: "same",
    // Checksums and conditional writes came late, and many clusters are older than that.
    traits: { ...PLAIN, trustEtag: true },
  },
  seaweedfs: {
    label: "SeaweedFS",
    endpointTemplate: "http://seaweedfs.example.com:8333",
    regionHint: "Any; us-east-1 works.",
    defaultRegion: "us-east-1",
    addressing: "path",
    egress: "own",
    note: "A server of your own.",
    temporaryKeys: null,
    // Its multipart ETags do not follow the rule others keep.
    traits: { ...LIKE_S3, trustEtag: false },
  },
  garage: {
    label: "Garage",
    endpointTemplate: "https://garage.example.com:3900",
    regionHint: "The s3_region of its configuration; garage unless set.",
    defaultRegion: "garage",
    addressing: "path",
    egress: "own",
    note: "A cluster of your own.",
    temporaryKeys: null,
    // Checksums exist only since version 1, conditional writes are not documented.
    traits: { ...PLAIN, trustEtag: true },
  },
  tigris: {
    label: "Tigris",
    endpointTemplate: "https://fly.storage.tigris.dev",
    regionHint: "Always auto.",
    defaultRegion: "auto",
    addressing: "virtual-host",
    egress: "none",
    note: "No egress fees. Conditional writes hold within one location.",
    temporaryKeys: null,
    traits: { ...PLAIN, conditionalWrites: true, trustEtag: true },
  },
  scaleway: {
    label: "Scaleway",
    endpointTemplate: "https://s3.{region}.scw.cloud",
    regionHint: "The region of the bucket, for example fr-par.",
    defaultRegion: "fr-par",
    addressing: "virtual-host",
    egress: "metered",
    note: "An upload has at most 1,000 parts, so large files go in larger ones.",
    temporaryKeys: null,
    traits: { ...PLAIN, maxParts: 1000, trustEtag: true },
  },
  other: {
    label: "Other S3-compatible",
    endpointTemplate: "https://s3.example.com",
    regionHint: "Ask the provider; us-east-1 works for most.",
    defaultRegion: "us-east-1",
    addressing: "path",
    egress: "own",
    note: "Only what every S3 store has in common is used.",
    temporaryKeys: "same",
    // "none" until a node has found out more: that is what everything that cannot probe must send.
    traits: { ...PLAIN, checksum: "none", probeChecksum: true },
  },
};

/** Where a store gives out temporary keys: of its provider, or at its own endpoint; null: nowhere that is known. */
export function temporaryPlaceOf(profile: {
  provider: Provider;
  region: string;
  endpoint: string;
}): TemporaryPlace | null {
  const { provider, region, endpoint } = profile;
  const { temporaryKeys } = PRESETS[provider];
  if (temporaryKeys === null) return null;
  // The account is the first word of an endpoint of R2.
  const [account = ""] = new URL(endpoint).hostname.split(".");
  const address =
    temporaryKeys === "same" ? endpoint : temporaryKeys.replace("{region}", region).replace("{account}", account);
  return { call: provider === "r2" ? "r2" : "sts", address };
}

/** What the engine must know of a provider's stores. */
export const traitsOf = (provider: Provider): StoreTraits => PRESETS[provider].traits;

/**
 * What the engine must know of one store: of its provider's, corrected by what a test of this very store found. A store
 * nobody knows need not be probed by every node once that has been done.
 */
export function traitsFound(provider: Provider, found: FoundTraits | null): StoreTraits {
  const traits = traitsOf(provider);
  if (found === null) return traits;
  const { checksum, conditionalWrites } = found;
  return {
    ...traits,
    ...(checksum !== null && { checksum, probeChecksum: false }),
    ...(conditionalWrites !== null && { conditionalWrites }),
  };
}

/** The presets as the profile form shows them, in the order of the list of providers. */
export const presetViews = (): PresetView[] =>
  PROVIDERS.map((provider) => {
    const { traits: _traits, ...view } = PRESETS[provider];
    return { provider, ...view, prices: PRICES[provider] };
  });
