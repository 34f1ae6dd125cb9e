import { isAbsolute, join } from "node:path";
import { remainsOfEnvFile } from "#protocol/base/env-remains.ts";
import type { Environment } from "../base/environment.ts";

/** Sources of keys beside the settings: configuration files of other tools and providers of temporary keys, per environment. */
export interface KeyFacts {
  /** `~/.aws/config` and `~/.aws/credentials`, or where the environment puts them; null without a home. */
  configFile: string | null;
  credentialsFile: string | null;
  /** The environment names one of these files, so failing to read it is an error. */
  areFilesNamed: boolean;
  /** Candidate paths of rclone.conf, in the order in which they are tried. */
  rcloneFiles: readonly string[];
  /** Variables `RCLONE_CONFIG_NAME_OPTION`, which define rclone remotes without a file. */
  rcloneVariables: ReadonlyMap<string, string>;
  /** Variables beside the settings whose values have remains of an env file, with what was found. */
  notPlain: readonly { name: string; found: string }[];
  /** `AWS_IGNORE_CONFIGURED_ENDPOINT_URLS`: addresses in the AWS files are ignored. */
  ignoresEndpoints: boolean;
  /** `AWS_EC2_METADATA_DISABLED` is not set, so the instance's role may give keys. */
  asksInstance: boolean;
  /** Provider of temporary keys that the environment names. */
  given: "web identity" | "container" | null;
}

/** Returns HOME; null where it is no absolute path (unset, empty, `~` as text), so that no folder is made below the current one. */
export function homeIn(env: Environment): string | null {
  const home = env["HOME"];
  return home !== undefined && isAbsolute(home) ? home : null;
}

/** Variables beside the settings that say where keys are; the SDK reads some of them. */
const KEY_VARIABLES: readonly string[] = [
  "AWS_CONFIG_FILE",
  "AWS_SHARED_CREDENTIALS_FILE",
  "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
  "AWS_EC2_METADATA_DISABLED",
  "AWS_EC2_METADATA_SERVICE_ENDPOINT",
  "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_ROLE_ARN",
  "AWS_ROLE_SESSION_NAME",
  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
  "AWS_CONTAINER_CREDENTIALS_FULL_URI",
  "AWS_CONTAINER_AUTHORIZATION_TOKEN",
  "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
  "RCLONE_CONFIG",
];

/** Derives the facts from the environment alone. */
export function readKeyFacts(env: Environment): KeyFacts {
  const read = (name: string): string | null => env[name] || null;
  const home = homeIn(env) ?? read("USERPROFILE");
  const below = (...parts: string[]): string | null => (home === null ? null : join(home, ...parts));
  const settings = read("XDG_CONFIG_HOME");
  const rclone = [
    read("RCLONE_CONFIG"),
    settings === null ? null : join(settings, "rclone", "rclone.conf"),
    below(".config", "rclone", "rclone.conf"),
    below(".rclone.conf"),
  ];
  return {
    configFile: read("AWS_CONFIG_FILE") ?? below(".aws", "config"),
    credentialsFile: read("AWS_SHARED_CREDENTIALS_FILE") ?? below(".aws", "credentials"),
    areFilesNamed: read("AWS_CONFIG_FILE") !== null || read("AWS_SHARED_CREDENTIALS_FILE") !== null,
    rcloneFiles:
      read("RCLONE_CONFIG") === null
        ? rclone.filter((file) => file !== null)
        : rclone.slice(0, 1).filter((file) => file !== null),
    rcloneVariables: new Map(
      Object.entries(env).flatMap(([name, value]) =>
        name.startsWith("RCLONE_CONFIG_") && name !== "RCLONE_CONFIG_PASS" && value ? [[name, value] as const] : [],
      ),
    ),
    notPlain: Object.entries(env).flatMap(([name, value = ""]) => {
      if (!KEY_VARIABLES.includes(name) && !name.startsWith("RCLONE_CONFIG_")) return [];
      const found = value === "" ? null : remainsOfEnvFile(value, { name });
      return found === null ? [] : [{ name, found }];
    }),
    ignoresEndpoints: /^(?:true|1)$/i.test(read("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") ?? ""),
    asksInstance: !/^(?:true|1)$/i.test(read("AWS_EC2_METADATA_DISABLED") ?? ""),
    given:
      read("AWS_WEB_IDENTITY_TOKEN_FILE") !== null && read("AWS_ROLE_ARN") !== null
        ? "web identity"
        : read("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") !== null || read("AWS_CONTAINER_CREDENTIALS_FULL_URI") !== null
          ? "container"
          : null,
  };
}

/** Provider of temporary keys, for when no setting holds keys. */
export interface KeysFrom {
  /** `profile`: a role, a session, a program or a token file that the AWS files name. */
  kind: "profile" | "web identity" | "container" | "instance";
  /** Profile in the AWS files; null: `default`. */
  profile: string | null;
  /** Source of the keys, for messages: `the role of the profile training`. */
  says: string;
  configFile: string | null;
  credentialsFile: string | null;
}

/** Detail of the Fault when a command has no keys and this machine has no provider of keys. */
export const NO_KEYS =
  "they are missing: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile of ~/.aws with --profile";

const RAW_KEYS = [
  "TIDEMARK_ACCESS_KEY_ID",
  "TIDEMARK_SECRET_ACCESS_KEY",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
];

/**
 * Returns the warning for a node whose hub signs its requests, but whose environment holds keys of a bucket; null without
 * such keys. It names the variables, never their values.
 */
export function rawKeysWarning(env: Environment): string | null {
  const set = RAW_KEYS.filter((name) => (env[name] ?? "") !== "");
  if (set.length === 0) return null;
  const verb = set.length === 1 ? "is" : "are";
  return `${set.join(", ")} ${verb} set: the hub signs for this node, so Tidemark needs no key here, and whoever owns this machine can read it. Take it out unless the program uses it.`;
}
