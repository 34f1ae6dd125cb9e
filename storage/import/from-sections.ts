import type { Provider } from "#protocol/base/provider.ts";
import { PROVIDER_ENTRIES } from "../providers/providers.ts";
import { emptyStore, type ReadStore } from "./read-store.ts";
import { remoteOf } from "./read-command.ts";
import type { Section } from "./read-text.ts";

/** Stores out of the sections of rclone.conf (https://rclone.org/s3/) and of the AWS files. Pure. */

/** By rclone's names. What is not here is told by its host, or is "other". */
const RCLONE_PROVIDERS: ReadonlyMap<string, Provider> = new Map(
  PROVIDER_ENTRIES.flatMap(([provider, { rclone }]) => (rclone === null ? [] : [[rclone, provider]])),
);

export interface RcloneRemote {
  name: string;
  read: ReadStore;
  /** Options that say how it transfers, by the name of their flag. */
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
    problems: [
      "rclone's b2 does not say the region: take the endpoint from the bucket's page, s3.REGION.backblazeb2.com",
    ],
  };
}

/** Options that say how it transfers; those that say where, and the key, are nothing to judge. */
const TRANSFER_OPTIONS =
  /^(chunk_size|upload_concurrency|upload_cutoff|disable_\w+|v2_auth|no_check_bucket|leave_\w+)$/;

/** The flags that a section's own options stand for. */
const optionsOf = (section: Section): Map<string, string> =>
  new Map(
    [...section.values]
      .filter(([key]) => TRANSFER_OPTIONS.test(key))
      .map(([key, value]) => [`s3-${key.replaceAll("_", "-")}`, value]),
  );

export interface RcloneFound {
  remotes: RcloneRemote[];
  ignored: string[];
}

/** What rclone lays over another remote in a form of its own. */
const OF_RCLONE_ALONE: ReadonlySet<string> = new Set(["crypt", "chunker", "compress"]);
const MOST_ALIASES = 8;

/** Reads the remotes of rclone. What stands before another remote (alias) tells that one's bucket. */
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
  /** The remote at the end of a chain of aliases, and where on it the first one stands; null when it leads nowhere. */
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
      // The name of the remote plays no part in it.
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

/** As rclone reads the remote of an alias: without a colon, or after a letter of a drive, it is a path. */
const isLocalPath = (remote: string): boolean =>
  remote !== "" && (!remote.includes(":") || /^[./~]|^[A-Za-z]:[\\/]/.test(remote));

/** Whether there is one for the same place already. */
const has = (
  remotes: readonly RcloneRemote[],
  at: { bucket: string | null; prefix: string; key: string | null },
): boolean =>
  remotes.some(({ read }) => read.bucket === at.bucket && read.prefix === at.prefix && read.accessKeyId === at.key);

/** `profile NAME` of the config file is `NAME` of the credentials file; a name with spaces stands in quotes there. */
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
 * Profiles of the AWS files. Both files may be pasted one behind the other: sections of one name are one. Source:
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
