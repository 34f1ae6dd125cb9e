import type { Provider } from "#protocol/base/provider.ts";
import { LIKE_S3, MIB, PATIENT, PLAIN, type ProviderEntries } from "./provider-entry.ts";
import type { OwnServer } from "./own-servers.ts";

const nothingFree = { freeEgressPerStored: 0, freeEgressGb: 0 };
const freeRequests = { writesPer1000: 0, readsPer1000: 0 };

/** Hosted services. Their order decides when a text names several providers. */
export const SERVICES: ProviderEntries<Exclude<Provider, OwnServer>> = {
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
    // us-east-1, Standard class. The first 100 GB of egress a month are free per account.
    prices: {
      currency: "USD",
      egressPerGb: 0.09,
      freeEgressPerStored: 0,
      freeEgressGb: 100,
      storagePerGbMonth: 0.023,
      writesPer1000: 0.005,
      readsPer1000: 0.0004,
      source: "https://aws.amazon.com/s3/pricing/",
    },
    hosts: [
      {
        pattern:
          /^(?:[a-z0-9.-]+\.)?s3(?<flavour>\.dualstack|-fips)?[.-](?<region>[a-z]{2}(?:-[a-z]+){1,3}-\d)\.amazonaws\.com(?<china>\.cn)?$/,
        region: null,
        at: (region, { flavour = "", china = "" }) => `s3${flavour}.${region}.amazonaws.com${china}`,
      },
      {
        pattern: /^(?:[a-z0-9.-]+\.)?s3(?:-accelerate)?\.amazonaws\.com$/,
        region: "us-east-1",
        at: (region) => `s3.${region}.amazonaws.com`,
      },
    ],
    rclone: "aws",
    variables: [],
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
    // Accepts only composite CRC32 per part, the form that uploads use. Requires equal parts, as every plan makes them.
    // Reports on good concurrency differ, so it starts low and may grow.
    traits: { ...LIKE_S3, ...PATIENT, startConnections: 6, mostConnections: 64 },
    // Class A 4.50 and class B 0.36 per million.
    prices: {
      currency: "USD",
      egressPerGb: 0,
      ...nothingFree,
      storagePerGbMonth: 0.015,
      writesPer1000: 0.0045,
      readsPer1000: 0.00036,
      source: "https://developers.cloudflare.com/r2/pricing/",
    },
    hosts: [{ pattern: /^(?:[a-z0-9-]+\.)+r2\.cloudflarestorage\.com$/, region: "auto" }],
    rclone: "cloudflare",
    variables: ["R2", "CLOUDFLARE_R2", "CF_R2", "CLOUDFLARE", "CF"],
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
    // Refuses requests with x-amz-checksum headers. Its frequent 503 asks for a retry on another connection.
    traits: { ...PLAIN, trustEtag: true, mostConnections: 64 },
    // Free up to three times what is stored on average; uploads (class A) free, reads (class B) 0.004 per 10,000.
    prices: {
      currency: "USD",
      egressPerGb: 0.01,
      freeEgressPerStored: 3,
      freeEgressGb: 0,
      storagePerGbMonth: 0.006,
      writesPer1000: 0,
      readsPer1000: 0.0004,
      source: "https://www.backblaze.com/cloud-storage/pricing",
    },
    hosts: [
      {
        pattern: /^(?:[a-z0-9.-]+\.)?s3\.(?<region>[a-z]{2}-[a-z]+-\d{3})\.backblazeb2\.com$/,
        region: null,
        at: (region) => `s3.${region}.backblazeb2.com`,
      },
    ],
    rclone: null,
    variables: ["B2", "BACKBLAZE", "BACKBLAZE_B2"],
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
    // The per-GB plan, retired for new projects in November 2025. Newer projects enter their tier's price in the profile.
    // The fee per segment of 64 MB and month is not counted.
    prices: {
      currency: "USD",
      egressPerGb: 0.007,
      ...nothingFree,
      storagePerGbMonth: 0.004,
      ...freeRequests,
      source: "https://storj.dev/dcs/pricing/legacy",
    },
    hosts: [{ pattern: /^gateway(?:\.[a-z0-9]+)?\.storjshare\.io$/, region: "us-east-1" }],
    rclone: "storj",
    variables: ["STORJ"],
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
    // Answers too many requests with status 400 (see fault-codes.ts).
    traits: { ...PLAIN, trustEtag: true },
    // No egress fee. The fair use policy limits monthly egress to the amount stored.
    prices: {
      currency: "USD",
      egressPerGb: 0,
      freeEgressPerStored: 1,
      freeEgressGb: 0,
      storagePerGbMonth: 0.0068,
      ...freeRequests,
      source: "https://wasabi.com/pricing",
    },
    hosts: [
      {
        pattern: /^(?:[a-z0-9.-]+\.)?s3\.(?<region>[a-z]{2}-[a-z]+-\d)\.wasabisys\.com$/,
        region: null,
        at: (region) => `s3.${region}.wasabisys.com`,
      },
      { pattern: /^s3\.wasabisys\.com$/, region: "us-east-1", at: (region) => `s3.${region}.wasabisys.com` },
    ],
    rclone: "wasabi",
    variables: ["WASABI"],
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
    // A subscription of 5 a month includes 250 GiB of storage and 1 TiB of egress; these are the prices beyond it.
    prices: {
      currency: "USD",
      egressPerGb: 0.01,
      freeEgressPerStored: 0,
      freeEgressGb: 1100,
      storagePerGbMonth: 0.02,
      ...freeRequests,
      source: "https://docs.digitalocean.com/products/spaces/details/pricing/",
    },
    hosts: [
      {
        pattern: /^(?:[a-z0-9.-]+\.)?(?<region>[a-z]{3}\d)\.digitaloceanspaces\.com$/,
        region: null,
        at: (region) => `${region}.digitaloceanspaces.com`,
      },
    ],
    rclone: "digitalocean",
    variables: ["SPACES", "DO_SPACES", "DIGITALOCEAN_SPACES"],
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
    // Standard tier.
    prices: {
      currency: "USD",
      egressPerGb: 0,
      ...nothingFree,
      storagePerGbMonth: 0.02,
      writesPer1000: 0.005,
      readsPer1000: 0.0005,
      source: "https://www.tigrisdata.com/pricing/",
    },
    hosts: [{ pattern: /^(?:fly\.storage\.tigris\.dev|t3\.storage\.dev)$/, region: "auto" }],
    rclone: null,
    variables: ["TIGRIS"],
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
    // Standard class, multi-zone; 75 GB of egress a month are free.
    prices: {
      currency: "EUR",
      egressPerGb: 0.01,
      freeEgressPerStored: 0,
      freeEgressGb: 75,
      storagePerGbMonth: 0.0146,
      ...freeRequests,
      source: "https://www.scaleway.com/en/pricing/storage/",
    },
    hosts: [
      {
        pattern: /^(?:[a-z0-9.-]+\.)?s3\.(?<region>[a-z]{2}-[a-z]{3})\.scw\.cloud$/,
        region: null,
        at: (region) => `s3.${region}.scw.cloud`,
      },
    ],
    rclone: "scaleway",
    variables: ["SCW", "SCALEWAY"],
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
    // An UploadPart with a checksum header fails signature verification, and S3 conditions on writes are ignored.
    traits: { ...PLAIN, ...PATIENT, trustEtag: true },
    // Standard class in a US region, premium tier network, to most of the world.
    prices: {
      currency: "USD",
      egressPerGb: 0.12,
      ...nothingFree,
      storagePerGbMonth: 0.02,
      writesPer1000: 0.005,
      readsPer1000: 0.0004,
      source: "https://cloud.google.com/storage/pricing",
    },
    hosts: [{ pattern: /^(?:[a-z0-9._-]+\.)?storage\.googleapis\.com$/, region: "auto" }],
    rclone: "gcs",
    variables: ["GCS", "GOOGLE"],
  },
};
