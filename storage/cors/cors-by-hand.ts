import type { CorsRuleView } from "#protocol/wire/profiles.ts";
import type { Provider } from "#protocol/base/provider.ts";
import { escapeXml } from "../answers/xml.ts";
import { sdkRule } from "./bucket-cors.ts";

/** Commands and documents for users to apply where S3 calls cannot write the store's CORS rules, or this key may not. Pure. */

interface Place {
  endpoint: string;
  bucket: string;
  rules: readonly CorsRuleView[];
}

interface Paste {
  label: string;
  text: string;
}

/** Providers without an S3 call for CORS rules. The others are tried. */
export const NO_CORS_CALL: ReadonlySet<Provider> = new Set<Provider>(["gcs", "storj"]);

const json = (value: unknown): string => JSON.stringify(value, null, 2);

/** Returns the text in single quotes for a shell, with inner quotes escaped. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function awsPaste({ endpoint, bucket, rules }: Place): Paste {
  const document = json({ CORSRules: rules.map(sdkRule) });
  return {
    label: "aws command line",
    text: `cat > cors.json <<'END'\n${document}\nEND\naws s3api put-bucket-cors --endpoint-url ${quoted(endpoint)} --bucket ${quoted(bucket)} --cors-configuration file://cors.json`,
  };
}

const element = (name: string, text: string): string => `    <${name}>${escapeXml(text)}</${name}>`;

function xmlPaste({ rules }: Place): Paste {
  const lines = rules.flatMap((rule) => [
    "  <CORSRule>",
    ...(rule.id === null ? [] : [element("ID", rule.id)]),
    ...rule.origins.map((one) => element("AllowedOrigin", one)),
    ...rule.methods.map((one) => element("AllowedMethod", one)),
    ...rule.headers.map((one) => element("AllowedHeader", one)),
    ...rule.exposed.map((one) => element("ExposeHeader", one)),
    ...(rule.maxAgeSeconds === null ? [] : [element("MaxAgeSeconds", String(rule.maxAgeSeconds))]),
    "  </CORSRule>",
  ]);
  return { label: "XML", text: ["<CORSConfiguration>", ...lines, "</CORSConfiguration>"].join("\n") };
}

/** Returns Google's form. Its rules have one list for request headers and exposed response headers. */
function googlePaste({ bucket, rules }: Place): Paste {
  const document = json(
    rules.map((rule) => ({
      origin: rule.origins,
      method: rule.methods,
      responseHeader: [...new Set([...rule.headers, ...rule.exposed])],
      maxAgeSeconds: rule.maxAgeSeconds ?? 3600,
    })),
  );
  return {
    label: "gcloud",
    text: `cat > cors.json <<'END'\n${document}\nEND\ngcloud storage buckets update ${quoted(`gs://${bucket}`)} --cors-file=cors.json`,
  };
}

/** Returns MinIO's setting, which is one for the whole server: https://github.com/minio/minio/issues/21332 */
function minioPaste({ rules }: Place): Paste {
  const origins = rules.flatMap((rule) => rule.origins).join(",");
  return {
    label: "MinIO client",
    text: `mc admin config set ALIAS api cors_allow_origin=${quoted(origins)}\nmc admin service restart ALIAS`,
  };
}

/**
 * Returns the rules in B2's own form. B2 refuses the S3 call for a bucket that has such rules.
 * https://www.backblaze.com/docs/cloud-storage-cross-origin-resource-sharing-rules
 */
function b2Paste({ bucket, rules }: Place): Paste {
  const operations: Readonly<Record<string, string>> = {
    GET: "s3_get",
    HEAD: "s3_head",
    PUT: "s3_put",
    POST: "s3_post",
    DELETE: "s3_delete",
  };
  const own = rules.map((rule, index) => ({
    corsRuleName: rule.id ?? `rule-${index + 1}`,
    allowedOrigins: rule.origins,
    allowedOperations: rule.methods.map((method) => operations[method] ?? "s3_get"),
    allowedHeaders: rule.headers,
    exposeHeaders: rule.exposed,
    maxAgeSeconds: rule.maxAgeSeconds ?? 3600,
  }));
  return { label: "b2 command line", text: `b2 bucket update --cors-rules ${quoted(json(own))} ${quoted(bucket)}` };
}

/** Returns the instructions for a provider, the most likely first. */
export function corsPastes(provider: Provider, place: Place): Paste[] {
  switch (provider) {
    case "gcs":
      return [googlePaste(place)];
    case "storj":
      return [];
    case "minio":
      return [minioPaste(place), awsPaste(place), xmlPaste(place)];
    case "b2":
      return [awsPaste(place), b2Paste(place)];
    default:
      return [awsPaste(place), xmlPaste(place)];
  }
}

/** Returns why the rules cannot be written from here, and what to do. */
export function sayByHand(provider: Provider, why: "no call" | "refused"): string {
  if (why === "refused") {
    const rights = "s3:GetBucketCORS and s3:PutBucketCORS";
    return provider === "r2"
      ? "This key may not read or write the bucket's CORS rules: R2 wants a token with Admin Read & Write for that. Set the rule in Cloudflare's dashboard or with such a token, beside the rules that are there."
      : `This key may not read or write the bucket's CORS rules (${rights}). Give it both, or set the rule with a key that has them, beside the rules that are there.`;
  }
  if (provider === "gcs") {
    return "Google Cloud Storage takes CORS rules through its own tools only. This replaces the bucket's rules; add those that are there to the file first.";
  }
  if (provider === "storj") {
    return "Storj's gateway has no CORS rules to set: it decides by itself which pages it lets in. A page that it refuses needs a gateway of its own.";
  }
  if (provider === "minio") {
    return "This MinIO has no CORS rules per bucket; which pages are let in is one setting of the whole server, and anybody's unless it was set.";
  }
  return "This store has no S3 call for CORS rules. Set this rule with its own tools, beside the rules that are there.";
}
