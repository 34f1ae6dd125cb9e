import { hash } from "node:crypto";
import { GetBucketCorsCommand, PutBucketCorsCommand, type CORSRule, type S3Client } from "@aws-sdk/client-s3";
import type { CorsRuleView } from "#protocol/profiles.ts";
import { faultOfSdk } from "./faults.ts";

/** The cross-origin rules of a bucket, read and written as they are. */

const ruleOf = (rule: CORSRule): CorsRuleView => ({
  id: rule.ID ?? null,
  origins: rule.AllowedOrigins ?? [],
  methods: rule.AllowedMethods ?? [],
  headers: rule.AllowedHeaders ?? [],
  exposed: rule.ExposeHeaders ?? [],
  maxAgeSeconds: rule.MaxAgeSeconds ?? null,
});

/** The rule as the SDK and the AWS command line write it; what is not there is left out. */
export const sdkRule = (rule: CorsRuleView): CORSRule => ({
  ...(rule.id !== null && { ID: rule.id }),
  AllowedOrigins: rule.origins,
  AllowedMethods: rule.methods,
  ...(rule.headers.length > 0 && { AllowedHeaders: rule.headers }),
  ...(rule.exposed.length > 0 && { ExposeHeaders: rule.exposed }),
  ...(rule.maxAgeSeconds !== null && { MaxAgeSeconds: rule.maxAgeSeconds }),
});

/** Every rule in its order; none when the bucket has no rules. Faults of the store. */
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

interface WireRequest {
  headers: Record<string, string>;
  body: unknown;
}
const isWireRequest = (value: unknown): value is WireRequest =>
  typeof value === "object" && value !== null && "headers" in value && "body" in value;

/**
 * A sum of the document is demanded here, and which one is where stores differ: the SDK sends a CRC32 (B2 refuses the
 * header, old gateways ask for the MD5 all the same), the MD5 every S3 has always taken.
 */
function withMd5Only(request: WireRequest): void {
  for (const name of Object.keys(request.headers)) {
    if (/^x-amz-(sdk-)?checksum-/i.test(name)) delete request.headers[name];
  }
  if (typeof request.body !== "string" && !(request.body instanceof Uint8Array)) return;
  request.headers["content-md5"] = Buffer.from(hash("md5", request.body), "hex").toString("base64");
}

/** Replaces all rules of the bucket. Faults of the store. */
export async function writeCorsRules(client: S3Client, bucket: string, rules: readonly CorsRuleView[]): Promise<void> {
  try {
    const CORSConfiguration = { CORSRules: rules.map(sdkRule) };
    const command = new PutBucketCorsCommand({ Bucket: bucket, CORSConfiguration });
    // Behind the SDK's own sum, and before anything is signed.
    command.middlewareStack.add(
      (next) => (args) => {
        if (isWireRequest(args.request)) withMd5Only(args.request);
        return next(args);
      },
      { step: "build", priority: "low", name: "tidemarkMd5Only" },
    );
    await client.send(command);
  } catch (error) {
    throw faultOfSdk(error, { op: "PutBucketCors", subject: bucket });
  }
}
