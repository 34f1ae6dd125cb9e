import type { Provider } from "#protocol/base/provider.ts";
import { PROVIDER_ENTRIES } from "../providers/providers.ts";
import { placeOfRestic, readMcHosts } from "./from-other-tools.ts";
import { emptyStore, type ReadStore } from "./read-store.ts";
import type { Section } from "./read-text.ts";

/** Reads stores from environment variables, by the names that tools and providers' documentation use. Pure. */

interface Family {
  /** Several prefixes where a provider's documentation varies; the first that is set counts. */
  prefixes: readonly string[];
  provider: Provider | null;
}

const FAMILIES: readonly Family[] = [
  { prefixes: ["AWS"], provider: null },
  ...PROVIDER_ENTRIES.flatMap(([provider, { variables }]) =>
    variables.length === 0 ? [] : [{ prefixes: variables, provider }],
  ),
  { prefixes: ["S3"], provider: null },
];

const NAMES = {
  accessKeyId: ["ACCESS_KEY_ID", "ACCESS_KEY", "KEY_ID", "APPLICATION_KEY_ID", "KEY", "ROOT_USER", "HMAC_ACCESS_ID"],
  secretAccessKey: [
    "SECRET_ACCESS_KEY",
    "SECRET_KEY",
    "APPLICATION_KEY",
    "APP_KEY",
    "SECRET",
    "ROOT_PASSWORD",
    "HMAC_SECRET",
  ],
  sessionToken: ["SESSION_TOKEN", "SECURITY_TOKEN"],
  endpoint: ["ENDPOINT_URL_S3", "ENDPOINT_URL", "S3_ENDPOINT", "ENDPOINT", "S3_ENDPOINT_URL", "URL", "SERVER_URL"],
  region: ["REGION", "DEFAULT_REGION", "S3_REGION"],
  bucket: ["BUCKET", "BUCKET_NAME", "S3_BUCKET", "S3_BUCKET_NAME", "STORAGE_BUCKET_NAME"],
  account: ["ACCOUNT_ID"],
} as const;

/** Returns the rclone sections in variables `RCLONE_CONFIG_NAME_OPTION`: https://rclone.org/docs/#environment-variables */
export function sectionsOf(variables: ReadonlyMap<string, string>): Section[] {
  const found = new Map<string, Section>();
  const names = [...variables.keys()]
    .map((name) => /^RCLONE_CONFIG_([A-Z0-9_]+)_TYPE$/.exec(name)?.[1])
    .filter((name) => name !== undefined);
  for (const name of names) {
    const start = `RCLONE_CONFIG_${name}_`;
    const own = [...variables].filter(([variable]) => variable.startsWith(start));
    const options = own.map(([variable, value]): [string, string] => [
      variable.slice(start.length).toLowerCase(),
      value,
    ]);
    const values = new Map(options);
    found.set(name, { name: name.toLowerCase(), values, literal: values });
  }
  return [...found.values()];
}

/** Returns the flags that variables set: `RCLONE_TRANSFERS` is `--transfers`. */
export const flagsOf = (variables: ReadonlyMap<string, string>): Map<string, string> =>
  new Map(
    [...variables]
      .filter(([name]) => name.startsWith("RCLONE_") && !name.startsWith("RCLONE_CONFIG"))
      .map(([name, value]) => [name.slice(7).toLowerCase().replaceAll("_", "-"), value]),
  );

function readFamily(variables: ReadonlyMap<string, string>, { prefixes, provider }: Family): ReadStore | null {
  const valueOf = (names: readonly string[]): string | null => {
    for (const prefix of prefixes) {
      for (const name of names) {
        const value = variables.get(`${prefix}_${name}`);
        if (value !== undefined && value !== "") return value;
      }
    }
    return null;
  };
  const read: ReadStore = {
    ...emptyStore(prefixes[0] ?? ""),
    provider,
    endpoint: valueOf(NAMES.endpoint),
    region: valueOf(NAMES.region),
    bucket: valueOf(NAMES.bucket),
    accessKeyId: valueOf(NAMES.accessKeyId),
    secretAccessKey: valueOf(NAMES.secretAccessKey),
    sessionToken: valueOf(NAMES.sessionToken),
    account: provider === "r2" ? valueOf(NAMES.account) : null,
  };
  const isNothing = read.accessKeyId === null && read.secretAccessKey === null;
  return isNothing ? null : { ...read, from: `${prefixes[0] ?? ""}_ variables` };
}

/** Returns one store per name family with a key. A bucket variable without a family prefix applies to all of them. */
export function readVariables(variables: ReadonlyMap<string, string>): ReadStore[] {
  const shared = (names: readonly string[]): string | null =>
    names.map((name) => variables.get(name)).find((value) => value !== undefined && value !== "") ?? null;
  const bucket = shared(["BUCKET", "BUCKET_NAME", "S3_BUCKET", "S3_BUCKET_NAME"]);
  const endpoint = shared(["S3_ENDPOINT", "S3_ENDPOINT_URL", "ENDPOINT_URL"]);
  const restic = placeOfRestic(variables.get("RESTIC_REPOSITORY") ?? "");
  const families = FAMILIES.map((family) => readFamily(variables, family))
    .filter((read) => read !== null)
    .map((read) => ({
      ...read,
      bucket: read.bucket ?? bucket,
      endpoint: read.endpoint ?? (read.provider === null ? endpoint : null),
    }))
    // restic takes its keys from the names of AWS, whatever the store.
    .map((read) => {
      const isOfRestic = read.from === "AWS_ variables" && read.bucket === null && read.endpoint === null;
      return restic !== null && isOfRestic ? { ...read, ...restic } : read;
    });
  return [...families, ...readMcHosts(variables)];
}
