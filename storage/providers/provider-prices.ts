import type { ProviderPrices } from "#protocol/wire/profiles.ts";
import type { Provider } from "#protocol/base/provider.ts";

/**
 * What providers publish, for estimates and never for bills: list prices move, differ between regions and are less for
 * large customers, so a profile may carry its own. The default region's price of the usual storage class and of the first
 * step of a scale; small free allowances of an account are left out. Read in 2026 from the pages named.
 */

const nothingFree = { freeEgressPerStored: 0, freeEgressGb: 0 };
const freeRequests = { writesPer1000: 0, readsPer1000: 0 };

/** Null: a store of one's own, or one nobody knows. */
export const PRICES: Readonly<Record<Provider, ProviderPrices | null>> = {
  // us-east-1, Standard; the first 100 GB a month leave AWS as a whole for nothing.
  aws: {
    currency: "USD",
    egressPerGb: 0.09,
    freeEgressPerStored: 0,
    freeEgressGb: 100,
    storagePerGbMonth: 0.023,
    writesPer1000: 0.005,
    readsPer1000: 0.0004,
    source: "https://aws.amazon.com/s3/pricing/",
  },
  // Class A 4.50 and class B 0.36 per million.
  r2: {
    currency: "USD",
    egressPerGb: 0,
    ...nothingFree,
    storagePerGbMonth: 0.015,
    writesPer1000: 0.0045,
    readsPer1000: 0.00036,
    source: "https://developers.cloudflare.com/r2/pricing/",
  },
  // Free up to three times what is stored on average; uploads (class A) free, reads (class B) 0.004 per 10,000.
  b2: {
    currency: "USD",
    egressPerGb: 0.01,
    freeEgressPerStored: 3,
    freeEgressGb: 0,
    storagePerGbMonth: 0.006,
    writesPer1000: 0,
    readsPer1000: 0.0004,
    source: "https://www.backblaze.com/cloud-storage/pricing",
  },
  // The per-GB plan (retired for new projects in November 2025: newer ones set their tier's price in the profile).
  // Its fee per segment of 64 MB and month is not counted.
  storj: {
    currency: "USD",
    egressPerGb: 0.007,
    ...nothingFree,
    storagePerGbMonth: 0.004,
    ...freeRequests,
    source: "https://storj.dev/dcs/pricing/legacy",
  },
  // No fee; the fair use policy asks that no more leaves in a month than is stored.
  wasabi: {
    currency: "USD",
    egressPerGb: 0,
    freeEgressPerStored: 1,
    freeEgressGb: 0,
    storagePerGbMonth: 0.0068,
    ...freeRequests,
    source: "https://wasabi.com/pricing",
  },
  // Standard class in a US region, premium tier network, to most of the world.
  gcs: {
    currency: "USD",
    egressPerGb: 0.12,
    ...nothingFree,
    storagePerGbMonth: 0.02,
    writesPer1000: 0.005,
    readsPer1000: 0.0004,
    source: "https://cloud.google.com/storage/pricing",
  },
  // A subscription of 5 a month brings 250 GiB of storage and 1 TiB of transfer; these are the prices past it.
  spaces: {
    currency: "USD",
    egressPerGb: 0.01,
    freeEgressPerStored: 0,
    freeEgressGb: 1100,
    storagePerGbMonth: 0.02,
    ...freeRequests,
    source: "https://docs.digitalocean.com/products/spaces/details/pricing/",
  },
  // Standard tier.
  tigris: {
    currency: "USD",
    egressPerGb: 0,
    ...nothingFree,
    storagePerGbMonth: 0.02,
    writesPer1000: 0.005,
    readsPer1000: 0.0005,
    source: "https://www.tigrisdata.com/pricing/",
  },
  // Standard, several zones; 75 GB a month leave for nothing.
  scaleway: {
    currency: "EUR",
    egressPerGb: 0.01,
    freeEgressPerStored: 0,
    freeEgressGb: 75,
    storagePerGbMonth: 0.0146,
    ...freeRequests,
    source: "https://www.scaleway.com/en/pricing/storage/",
  },
  minio: null,
  ceph: null,
  seaweedfs: null,
  garage: null,
  other: null,
};
