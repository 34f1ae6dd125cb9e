import { writeFileSync } from "node:fs";
import { join } from "node:path";
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

type KeyedStore = Parameters<typeof keysInEnv>[0];

/** Writes a profile of the AWS tools that has the store's address and keys, and returns the variables that name it. */
export function profileInFiles(folder: string, { endpoint, accessKey, secretKey }: KeyedStore) {
  const [config, keys] = [join(folder, "aws-config"), join(folder, "aws-credentials")];
  writeFileSync(config, `[profile lab]\nregion = us-east-1\nendpoint_url = ${endpoint}\n`);
  writeFileSync(keys, `[lab]\naws_access_key_id = ${accessKey}\naws_secret_access_key = ${secretKey}\n`);
  return { AWS_CONFIG_FILE: config, AWS_SHARED_CREDENTIALS_FILE: keys, AWS_PROFILE: "lab" };
}

/** Writes a remote of rclone, `lab`, that has the store's address and keys, and returns the variable that names its file. */
export function remoteInFile(folder: string, { endpoint, accessKey, secretKey }: KeyedStore) {
  const file = join(folder, "rclone.conf");
  const lines = ["[lab]", "type = s3", "provider = Minio", `endpoint = ${endpoint}`];
  writeFileSync(file, [...lines, `access_key_id = ${accessKey}`, `secret_access_key = ${secretKey}`].join("\n"));
  return { RCLONE_CONFIG: file };
}
