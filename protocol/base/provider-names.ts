/** Names of the known services; `other` is any other S3-compatible one. Imports no zod, because programs load this at start. */
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
