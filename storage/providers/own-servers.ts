import type { Provider } from "#protocol/base/provider.ts";
import { LIKE_S3, PLAIN, type ProviderEntries } from "./provider-entry.ts";

export type OwnServer = Extract<Provider, "minio" | "ceph" | "seaweedfs" | "garage" | "other">;

/** Servers that users run themselves, and `other` for any further S3-compatible store. */
export const OWN_SERVERS: ProviderEntries<OwnServer> = {
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
    prices: null,
    hosts: [{ pattern: /^play\.min\.io$/, region: "us-east-1" }],
    rclone: "minio",
    variables: ["MINIO"],
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
    // Checksums and conditional writes are recent additions, and many clusters run older versions.
    traits: { ...PLAIN, trustEtag: true },
    prices: null,
    hosts: [],
    rclone: "ceph",
    variables: [],
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
    // Its multipart ETags do not follow the usual rule (MD5 of the parts' MD5s).
    traits: { ...LIKE_S3, trustEtag: false },
    prices: null,
    hosts: [],
    rclone: "seaweedfs",
    variables: [],
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
    // Checksums require version 1 or later; conditional writes are not documented.
    traits: { ...PLAIN, trustEtag: true },
    prices: null,
    hosts: [],
    rclone: null,
    variables: [],
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
    // "none" until a node has probed the store, because clients that cannot probe must send no checksum header.
    traits: { ...PLAIN, checksum: "none", probeChecksum: true },
    prices: null,
    hosts: [],
    rclone: null,
    variables: [],
  },
};
