import { parseJsonOrNull } from "#protocol/base/parse-json-or-null.ts";
import type { Provider } from "#protocol/base/provider.ts";
import { PROVIDER_ENTRIES } from "../providers/providers.ts";
import { emptyStore, type ReadStore } from "./read-store.ts";
import { remoteOf } from "./read-command.ts";
import type { Section } from "./read-text.ts";

/** Reads stores from sections of rclone.conf (https://rclone.org/s3/) and of the AWS files. Pure. */

/** Providers by rclone's names. The host decides for a name that is missing here, or the provider is "other". */
const RCLONE_PROVIDERS: ReadonlyMap<string, Provider> = new Map(
  PROVIDER_ENTRIES.flatMap(([provider, { rclone }]) => (rclone === null ? [] : [[rclone, provider]])),
);

export interface RcloneRemote {
  name: string;
  read: ReadStore;
  /** Transfer options, by the name of their flag. */
  options: Map<string, string>;
}

const textOf = (section: Section, ...keys: string[]): string | null => {
  for (const key of keys) {
    const value = section.values.get(key);
    if (value !== undefined && value !== "") return value;
  }
  return null;
};

const isOn = (value: string | null): boolean => value !== null && /^(1|true|yes|on)$/i.test(value);

function s3Remote(section: Section): ReadStore {
  const named = textOf(section, "provider")?.toLowerCase() ?? "";
  const provider = RCLONE_PROVIDERS.get(named) ?? null;
  const style = textOf(section, "force_path_style");
  const problems: string[] = [];
  if (isOn(textOf(section, "env_auth"))) {
    problems.push(
      "its key is taken from the environment (env_auth): paste the AWS_ variables as well, or type the key",
    );
  }
  return {
    ...emptyStore(section.name),
    provider: named === "" || provider !== null ? provider : "other",
    endpoint: textOf(section, "endpoint"),
    region: textOf(section, "region"),
    accessKeyId: textOf(section, "access_key_id"),
    secretAccessKey: textOf(section, "secret_access_key"),
    isSecretLiteral: true,
    sessionToken: textOf(section, "session_token"),
    addressing: style === null ? null : isOn(style) ? "path" : "virtual-host",
    problems,
  };
}

function b2Remote(section: Section): ReadStore {
  return {
    ...emptyStore(section.name),
    provider: "b2",
    endpoint: textOf(section, "s3_endpoint"),
    accessKeyId: textOf(section, "account"),
    secretAccessKey: textOf(section, "key"),
    isSecretLiteral: true,
    problems: [
      "rclone's b2 does not say the region: take the endpoint from the bucket's page, s3.REGION.backblazeb2.com",
    ],
  };
}

/** Options on how to transfer. Options on the location and the key are not linted. */
const TRANSFER_OPTIONS =
  /^(chunk_size|upload_concurrency|upload_cutoff|disable_\w+|v2_auth|no_check_bucket|leave_\w+)$/;

/** Returns a section's transfer options as the flags that they stand for. */
const optionsOf = (section: Section): Map<string, string> =>
  new Map(
    [...section.values]
      .filter(([key]) => TRANSFER_OPTIONS.test(key))
      .map(([key, value]) => [`s3-${key.replaceAll("_", "-")}`, value]),
  );

/** Returns the sections of what `rclone config dump` prints; null for any other text. */
export function readDump(text: string): Section[] | null {
  const read = parseJsonOrNull(text.replace(/^\uFEFF/, ""));
  if (typeof read !== "object" || read === null || Array.isArray(read)) return null;
  const sections = Object.entries(read).flatMap(([name, settings]): Section[] => {
    if (typeof settings !== "object" || settings === null) return [];
    const literal = new Map(Object.entries(settings).map(([key, value]) => [key.toLowerCase(), String(value)]));
    return literal.has("type") ? [{ name, values: literal, literal }] : [];
  });
  return sections.length === 0 ? null : sections;
}

export interface RcloneFound {
  remotes: RcloneRemote[];
  ignored: string[];
}

/** Remote types that store data in rclone's own format on top of another remote. */
const OF_RCLONE_ALONE: ReadonlySet<string> = new Set(["crypt", "chunker", "compress"]);
const MOST_ALIASES = 8;

/** Reads rclone's remotes. An alias of a remote supplies that remote's bucket. */
export function readRclone(sections: readonly Section[]): RcloneFound {
  const remotes: RcloneRemote[] = [];
  const ignored: string[] = [];
  const typeOf = (section: Section): string => section.values.get("type")?.toLowerCase() ?? "";
  for (const section of sections) {
    const type = typeOf(section);
    if (type === "s3") remotes.push({ name: section.name, read: s3Remote(section), options: optionsOf(section) });
    else if (type === "b2") remotes.push({ name: section.name, read: b2Remote(section), options: new Map() });
  }
  const own = new Map(remotes.map((remote) => [remote.name, remote]));
  const named = new Map(sections.map((section) => [section.name, section]));
  /** Follows a chain of aliases to its remote and the path in it; null when no such remote exists. */
  const follow = (first: Section): { remote: RcloneRemote; path: string } | null => {
    let path = "";
    let section: Section | undefined = first;
    for (let depth = 0; depth < MOST_ALIASES && section !== undefined; depth++) {
      const [, name = "", rest = ""] = /^([^:]{1,128}):(.*)$/.exec(section.values.get("remote") ?? "") ?? [];
      path = [rest, path].filter((piece) => piece !== "").join("/");
      const remote = own.get(name);
      if (remote !== undefined) return { remote, path };
      section = named.get(name);
      if (section !== undefined && typeOf(section) !== "alias") return null;
    }
    return null;
  };
  for (const section of sections) {
    const type = typeOf(section);
    if (type === "s3" || type === "b2") continue;
    if (type === "alias") {
      const end = follow(section);
      // `remoteOf` needs some remote name; this one is not used.
      const at = end === null ? null : remoteOf(`remote:${end.path}`);
      if (end === null && isLocalPath(section.values.get("remote") ?? ""))
        ignored.push(`${section.name}: an alias of a folder of the machine it was written on, and of no store`);
      else if (end === null || at === null)
        ignored.push(`${section.name}: an alias of a remote that is not in the text`);
      else if (end.remote.read.bucket === null) {
        end.remote.read = { ...end.remote.read, bucket: at.bucket, prefix: at.prefix };
      } else if (at.bucket !== null && !has(remotes, { ...at, key: end.remote.read.accessKeyId })) {
        const read = { ...end.remote.read, from: section.name, bucket: at.bucket, prefix: at.prefix };
        remotes.push({ name: section.name, read, options: end.remote.options });
      }
    } else if (type === "storj") {
      ignored.push(`${section.name}: an access grant of Storj is no S3 key; make one with uplink share --register`);
    } else if (OF_RCLONE_ALONE.has(type)) {
      ignored.push(`${section.name}: what rclone writes through ${type} only rclone can read`);
    } else ignored.push(`${section.name}: no store that speaks S3`);
  }
  return { remotes, ignored };
}

/** Returns whether an alias points to a local path, by rclone's rule: without a colon, or after a drive letter. */
const isLocalPath = (remote: string): boolean =>
  remote !== "" && (!remote.includes(":") || /^[./~]|^[A-Za-z]:[\\/]/.test(remote));

/** Returns whether a remote with the same place and key exists already. */
const has = (
  remotes: readonly RcloneRemote[],
  at: { bucket: string | null; prefix: string; key: string | null },
): boolean =>
  remotes.some(({ read }) => read.bucket === at.bucket && read.prefix === at.prefix && read.accessKeyId === at.key);

/** Returns a profile's name. The config file writes `profile NAME`, quoted if it has spaces; the credentials file `NAME`. */
const awsName = (name: string): string => name.replace(/^profile\s+/, "").replace(/^(["'])(.*)\1$/, "$2");

function awsRead(name: string, section: Section): ReadStore {
  const style = textOf(section, "s3.addressing_style");
  const problems: string[] = [];
  const comesFrom = ["role_arn", "sso_session", "sso_start_url", "credential_process"].find((key) =>
    section.values.has(key),
  );
  if (comesFrom !== undefined) {
    problems.push(`it gets its key from elsewhere (${comesFrom}): make a key that stays, for this bucket alone`);
  }
  return {
    ...emptyStore(name),
    endpoint: textOf(section, "s3.endpoint_url", "endpoint_url"),
    region: textOf(section, "region"),
    accessKeyId: textOf(section, "aws_access_key_id"),
    secretAccessKey: textOf(section, "aws_secret_access_key"),
    sessionToken: textOf(section, "aws_session_token"),
    addressing: style === "path" ? "path" : style === "virtual" ? "virtual-host" : null,
    problems,
  };
}

/**
 * Reads profiles of the AWS files. Both files may be pasted in sequence: sections with the same name are merged. Source:
 * https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
 */
export function readAws(sections: readonly Section[]): ReadStore[] {
  const joined = new Map<string, Section>();
  const services = new Map<string, Section>();
  for (const { name, values, literal } of sections) {
    const service = /^services\s+(.+)$/.exec(name)?.[1];
    if (service !== undefined) services.set(service, { name, values, literal });
    else if (!name.startsWith("sso-session ")) {
      const known = joined.get(awsName(name))?.values ?? [];
      joined.set(awsName(name), { name, values: new Map([...known, ...values]), literal });
    }
  }
  return [...joined].map(([name, { values, literal }]) => {
    const shared = services.get(values.get("services") ?? "")?.values ?? [];
    return awsRead(name, { name, values: new Map([...shared, ...values]), literal });
  });
}
