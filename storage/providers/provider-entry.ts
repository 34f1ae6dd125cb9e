import type { Provider } from "#protocol/base/provider.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import type { PresetView } from "#protocol/wire/profile-views.ts";
import type { ProviderPrices } from "#protocol/wire/profiles.ts";

/** A name of hosts that a provider owns, and where its regions live. */
export interface HostRule {
  /** On the lower-case host name without its port. A group `region` is the region; other groups are handed to `at`. */
  pattern: RegExp;
  /** The region where the name has none; null: ask elsewhere. */
  region: string | null;
  /** The same service in another region. */
  at?: (region: string, groups: Readonly<Record<string, string | undefined>>) => string;
}

/**
 * Everything that is known of one kind of store. A trait is on only where the provider's own documentation or our tests say so; a
 * wrong "no" costs a little, a wrong "yes" costs an upload. The profile test shows what a store really does.
 *
 * What the strictest store asks for is done for all and needs no trait: parts are equal but the last (R2), user metadata
 * is one short nonce (Storj allows 2 KiB), nothing is sent in aws-chunked framing or with trailers (B2, Spaces, Tigris),
 * accept-encoding is never signed and `x-id` never sent (Google), a control call signs its payload's hash while the byte
 * path is presigned, which every store takes; listings ask for percent-encoded names, believe only a store that says it did so
 * (Ceph, SeaweedFS and Spaces do not always), and count on no order (Storj).
 */
export interface ProviderEntry extends Omit<PresetView, "provider" | "prices"> {
  readonly traits: StoreTraits;
  /**
   * What it publishes, for estimates and never for bills: list prices move, differ between regions and are less for large customers,
   * so a profile may carry its own. The default region's price of the usual storage class and of the first step of a scale; small
   * free allowances of an account are left out. Read in 2026 from the pages named. Null: a store of one's own, or one nobody knows.
   */
  readonly prices: ProviderPrices | null;
  /** Only names that the provider owns: a host called `minio.example.com` may be anything. */
  readonly hosts: readonly HostRule[];
  /** Its name in rclone.conf (https://rclone.org/s3/), in lower case; null: it has none. */
  readonly rclone: string | null;
  /** What names of its variables begin with. Several where pages differ; the first that is set counts. */
  readonly variables: readonly string[];
}

export type ProviderEntries<Names extends Provider> = Readonly<Record<Names, ProviderEntry>>;

export const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/**
 * What every S3 has in common, and nothing more. The old Content-MD5 (some stores refuse requests that carry the newer
 * checksum headers), no conditional writes (some ignore them, which is worse than not asking), no trust in multipart
 * ETags.
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
  // Servers written for Node and a few gateways close after 5 s; a connection that is opened anew costs less than one lost.
  keepAliveMs: 4000,
};

/** S3 and what implements the same: CRC32 per part, conditional PUT and Complete, stable ETags. */
export const LIKE_S3: StoreTraits = { ...PLAIN, checksum: "crc32", conditionalWrites: true, trustEtag: true };

/** Fronts that are known to keep idle connections for minutes. */
export const PATIENT = { keepAliveMs: 50_000 };
