import { emptyStore, type ReadStore } from "./read-store.ts";

/** Reads definitions that tools keep with other things around the key: a Secret of Kubernetes as JSON, Terraform. Pure. */

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    return null;
  }
}

const MOST_SECRETS = 64;

/**
 * Returns the variables in the Secrets that `kubectl get secret -o json` prints, one or a list of them; null when the text is none.
 * Values are base64 below `data`, and as they are below `stringData`.
 */
export function readSecretJson(text: string, decode: (value: string) => string | null): Map<string, string>[] | null {
  if (!text.trimStart().startsWith("{") && !text.startsWith("\uFEFF")) return null;
  const read = parsed(text);
  if (!isObject(read)) return null;
  const items: unknown[] = read["kind"] === "List" && Array.isArray(read["items"]) ? read["items"] : [read];
  const secrets = items.filter(isObject).filter(({ kind }) => kind === "Secret");
  if (secrets.length === 0) return null;
  return secrets.slice(0, MOST_SECRETS).map((secret) => {
    const variables = new Map<string, string>();
    const take = (values: unknown, read: (value: string) => string | null) => {
      for (const [name, value] of isObject(values) ? Object.entries(values) : []) {
        const own = typeof value === "string" ? read(value) : null;
        if (own !== null) variables.set(name.toUpperCase(), own);
      }
    };
    take(secret["data"], decode);
    take(secret["stringData"], (value) => value);
    return variables;
  });
}

/** Returns what a JSON file is that looks like one of keys and has none for S3; null for any other text. */
export function nameJson(text: string): string | null {
  const read = text.trimStart().startsWith("{") ? parsed(text) : null;
  if (!isObject(read)) return null;
  if (read["type"] === "service_account" && "private_key" in read)
    return "a service account of Google Cloud is no key for S3: make an HMAC key for it (Cloud Storage, Settings, Interoperability)";
  if (read["type"] === "authorized_user") return "a login of gcloud is no key for S3: make an HMAC key instead";
  return null;
}

const TERRAFORM = /^[ \t]*(?:backend[ \t]+"s3"|provider[ \t]+"aws")[ \t]*\{/m;
const MOST_BLOCK = 20_000;

/** Reads `backend "s3"` or `provider "aws"` of Terraform; null when the text has neither with a key in it. */
export function readTerraform(text: string): ReadStore | null {
  const at = TERRAFORM.exec(text);
  if (at === null) return null;
  const block = text.slice(at.index, at.index + MOST_BLOCK);
  const valueOf = (name: string): string | null =>
    new RegExp(`^[ \\t]*${name}[ \\t]*=[ \\t]*"((?:[^"\\\\]|\\\\.){1,4096})"`, "m")
      .exec(block)?.[1]
      ?.replaceAll(/\\(["\\])/g, "$1") ?? null;
  const [accessKeyId, secretAccessKey] = [valueOf("access_key"), valueOf("secret_key")];
  if (accessKeyId === null && secretAccessKey === null) return null;
  const inEndpoints = /endpoints\s*(?:=\s*)?\{[^}]*?\bs3\s*=\s*"([^"]{1,1024})"/.exec(block)?.[1] ?? null;
  return {
    ...emptyStore("Terraform"),
    endpoint: inEndpoints ?? valueOf("endpoint"),
    region: valueOf("region"),
    bucket: valueOf("bucket"),
    accessKeyId,
    secretAccessKey,
    sessionToken: valueOf("token"),
  };
}
