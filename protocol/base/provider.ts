import * as z from "zod";

/** The services that are known by name; `other`: any that speaks S3. What each of them is like is in `storage/providers/providers`. */
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
export const provider = z.enum(PROVIDERS);
export type Provider = z.infer<typeof provider>;
