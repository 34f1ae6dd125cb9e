import { emptyStore, type ReadStore } from "./read-store.ts";
import type { Section } from "./read-text.ts";

/** Reads files that hold little but keys: s3cmd's, the AWS console's CSV, and JSON of command-line tools and services. Pure. */

/** Returns whether a section belongs to `~/.s3cfg`. */
export const isS3cmd = (literal: ReadonlyMap<string, string>): boolean =>
  literal.has("access_key") && (literal.has("host_base") || literal.has("host_bucket"));

/** Reads a section of `~/.s3cfg`. Source: https://s3tools.org/kb/item14.htm */
export function readS3cmd({ name, literal }: Section): ReadStore {
  const textOf = (key: string): string | null => literal.get(key) || null;
  const host = textOf("host_base");
  const scheme = /^(false|no|off|0)$/i.test(textOf("use_https") ?? "") ? "http" : "https";
  const region = textOf("bucket_location");
  return {
    ...emptyStore(`s3cmd ${name}`),
    endpoint: host === null ? null : host.includes("://") ? host : `${scheme}://${host}`,
    // s3cmd writes US for us-east-1.
    region: region === "US" ? null : region,
    accessKeyId: textOf("access_key"),
    secretAccessKey: textOf("secret_key"),
    sessionToken: textOf("access_token"),
    addressing: /^%\(bucket\)s?\./.test(textOf("host_bucket") ?? "") ? "virtual-host" : "path",
  };
}

/** Reads a text that is a CSV or JSON file of keys; null when it is neither. */
export function readKeyFile(text: string): ReadStore[] | null {
  const bare = text.replace(/^\uFEFF/, "").trim();
  const found = bare.startsWith("{") ? readJsonKeys(bare) : readCsv(bare);
  return found.length === 0 ? null : found;
}

/** Splits a CSV line; some spreadsheets save semicolons or tabs in place of commas. */
const cellsOf = (line: string): string[] => line.split(/[,;\t]/).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));

/** Reads the CSV that the AWS console offers for a new key. */
function readCsv(text: string): ReadStore[] {
  const [head = "", ...lines] = text.split(/\r\n|\r|\n/);
  const names = cellsOf(head).map((name) => name.toLowerCase());
  const [id, secret] = [names.indexOf("access key id"), names.indexOf("secret access key")];
  if (id < 0 || secret < 0) return [];
  return lines
    .filter((line) => line.trim() !== "")
    .map(cellsOf)
    .map((cells) => ({
      ...emptyStore("AWS console CSV"),
      accessKeyId: cells[id] || null,
      secretAccessKey: cells[secret] || null,
    }));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const textIn = (value: Record<string, unknown>, ...names: string[]): string | null => {
  const found = names.map((name) => value[name]).find((one) => typeof one === "string" && one !== "");
  return typeof found === "string" ? found : null;
};

/** Reads JSON of `aws sts`, `aws iam create-access-key`, metadata services, `credential_process`, and MinIO's client and console. */
function readJsonKeys(text: string): ReadStore[] {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return [];
  }
  if (!isObject(read)) return [];
  const { aliases } = read;
  if (isObject(aliases)) {
    return Object.entries(aliases).flatMap(([name, alias]) => {
      if (!isObject(alias)) return [];
      const [accessKeyId, secretAccessKey] = [textIn(alias, "accessKey"), textIn(alias, "secretKey")];
      const about = { endpoint: textIn(alias, "url"), accessKeyId, secretAccessKey };
      return accessKeyId === null ? [] : [{ ...emptyStore(`mc ${name}`), ...about }];
    });
  }
  // MinIO's console offers a new key as `credentials.json`; some versions append the path of their own interface.
  if (textIn(read, "accessKey") !== null && textIn(read, "secretKey") !== null) {
    const endpoint = textIn(read, "url")?.replace(/\/api\/v1\/.*$/, "") ?? null;
    const console = { accessKeyId: textIn(read, "accessKey"), secretAccessKey: textIn(read, "secretKey") };
    return [{ ...emptyStore("MinIO's credentials.json"), endpoint, ...console }];
  }
  const keys = [read["Credentials"], read["AccessKey"], read].find(isObject);
  if (keys === undefined) return [];
  const [accessKeyId, secretAccessKey] = [textIn(keys, "AccessKeyId"), textIn(keys, "SecretAccessKey")];
  if (accessKeyId === null && secretAccessKey === null) return [];
  const sessionToken = textIn(keys, "SessionToken", "Token");
  return [{ ...emptyStore("JSON of a key"), accessKeyId, secretAccessKey, sessionToken }];
}
