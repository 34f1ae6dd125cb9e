import type { StoreAddress } from "./provision.ts";

/** Returns a store's address and keys as the variables that every S3 tool reads. */
export const keysInEnv = ({
  endpoint,
  accessKey,
  secretKey,
}: Pick<StoreAddress, "endpoint" | "accessKey" | "secretKey">) => ({
  AWS_ENDPOINT_URL: endpoint,
  AWS_ACCESS_KEY_ID: accessKey,
  AWS_SECRET_ACCESS_KEY: secretKey,
});
