/** Names of the services that are known; `other`: any that speaks S3. No zod: programs load this at their start. */
export const PROVIDERS = [
  "aws",
  "r2",
  "b2",
  "storj",
  "wasabi",
  "gcs",
  "spaces",
  "minio",
  "ceph",
  "seaweedfs",
  "garage",
  "tigris",
  "scaleway",
  "other",
] as const;
