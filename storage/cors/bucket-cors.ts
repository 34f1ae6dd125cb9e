import { GetBucketCorsCommand, PutBucketCorsCommand, type CORSRule, type S3Client } from "@aws-sdk/client-s3";
import type { CorsRuleView } from "#protocol/wire/profiles.ts";
import { faultOfSdk } from "../answers/faults.ts";
import { SUM_BY_MD5, sumByMd5 } from "../s3/sum-by-md5.ts";

/** Reads and writes the CORS rules of a bucket unchanged. */

const ruleOf = (rule: CORSRule): CorsRuleView => ({
  id: rule.ID ?? null,
  origins: rule.AllowedOrigins ?? [],
  methods: rule.AllowedMethods ?? [],
  headers: rule.AllowedHeaders ?? [],
  exposed: rule.ExposeHeaders ?? [],
  maxAgeSeconds: rule.MaxAgeSeconds ?? null,
});

/** Returns the rule as the SDK and the AWS command line write it; absent values are left out. */
export const sdkRule = (rule: CorsRuleView): CORSRule => ({
  ...(rule.id !== null && { ID: rule.id }),
  AllowedOrigins: rule.origins,
  AllowedMethods: rule.methods,
  ...(rule.headers.length > 0 && { AllowedHeaders: rule.headers }),
  ...(rule.exposed.length > 0 && { ExposeHeaders: rule.exposed }),
  ...(rule.maxAgeSeconds !== null && { MaxAgeSeconds: rule.maxAgeSeconds }),
});

/** Returns all rules in order; an empty list when the bucket has none. Rejects with the store's Faults. */
export async function readCorsRules(client: S3Client, bucket: string): Promise<CorsRuleView[]> {
  try {
    const { CORSRules } = await client.send(new GetBucketCorsCommand({ Bucket: bucket }));
    return (CORSRules ?? []).map(ruleOf);
  } catch (error) {
    const fault = faultOfSdk(error, { op: "GetBucketCors", subject: bucket });
    if (fault.context.storeCode === "NoSuchCORSConfiguration") return [];
    throw fault;
  }
}

/** Replaces all rules of the bucket. Rejects with the store's Faults. */
export async function writeCorsRules(client: S3Client, bucket: string, rules: readonly CorsRuleView[]): Promise<void> {
  try {
    const CORSConfiguration = { CORSRules: rules.map(sdkRule) };
    const command = new PutBucketCorsCommand({ Bucket: bucket, CORSConfiguration });
    command.middlewareStack.add(sumByMd5, SUM_BY_MD5);
    await client.send(command);
  } catch (error) {
    throw faultOfSdk(error, { op: "PutBucketCors", subject: bucket });
  }
}
