import type { Provider } from "#protocol/base/provider.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import type { PresetView } from "#protocol/wire/profile-views.ts";
import type { ProviderPrices } from "#protocol/wire/profiles.ts";

/** A pattern of host names that a provider owns, and the form of its regional hosts. */
export interface HostRule {
  /** Tested against the lower-case host name without port. The group `region` is the region; other groups are passed to `at`. */
  pattern: RegExp;
  /** The region when the pattern has no group for it; null: unknown. */
  region: string | null;
  /** Returns the host of the same service in another region. */
  at?: (region: string, groups: Readonly<Record<string, string | undefined>>) => string;
}

/**
 * All knowledge about one kind of store. A trait is on only where the provider's documentation or our tests confirm it: a
 * wrong "no" costs a little speed, a wrong "yes" costs an upload. The profile test finds out what a particular store
 * does.
 *
 * Some limits apply to all stores, so they need no trait:
 * - All parts but the last are equal (R2), and user metadata is one short nonce (Storj allows 2 KiB).
 * - Nothing is sent in aws-chunked framing or with trailers (B2, Spaces, Tigris).
 * - accept-encoding is never signed and `x-id` never sent (Google). Control calls sign their payload's hash, data calls
 *   are presigned.
 * - Listings request percent-encoded names, but believe only a store that confirms the encoding (Ceph, SeaweedFS and
 *   Spaces do not always).
 * - Listings rely on no order (Storj).
 */
export interface ProviderEntry extends Omit<PresetView, "provider" | "prices"> {
  readonly traits: StoreTraits;
  /**
   * Published list prices, for estimates and never for bills: they change, differ by region and drop for large customers,
   * so a profile may set its own. Each is the default region's price of the standard class at the first tier, without
   * small free allowances per account. Read in 2026 from the pages named. Null: a self-hosted or unknown store.
   */
  readonly prices: ProviderPrices | null;
  /** Only names that the provider owns: a host called `minio.example.com` may be any server. */
  readonly hosts: readonly HostRule[];
  /** Lower-case name of the provider in rclone.conf (https://rclone.org/s3/); null: it has none. */
  readonly rclone: string | null;
  /** Prefixes of environment variables with its keys. Several where its documentation varies; the first that is set counts. */
  readonly variables: readonly string[];
}

export type ProviderEntries<Names extends Provider> = Readonly<Record<Names, ProviderEntry>>;

export const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/**
 * The common ground of all S3-compatible stores. Checksums use Content-MD5, because some stores refuse the newer checksum
 * headers. Conditional writes are off, because some stores silently ignore the condition. Multipart ETags are not
 * compared.
 */
export const PLAIN: StoreTraits = {
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
  // Node servers and a few gateways close idle connections after 5 s. Reconnecting early costs less than a lost request.
  keepAliveMs: 4000,
};

/** Stores that behave like Amazon S3: CRC32 per part, conditional PutObject and CompleteMultipartUpload, stable ETags. */
export const LIKE_S3: StoreTraits = { ...PLAIN, checksum: "crc32", conditionalWrites: true, trustEtag: true };

/** Front-end servers known to keep idle connections open for minutes. */
export const PATIENT = { keepAliveMs: 50_000 };
