import { isAbsolute, join } from "node:path";
import type { Environment } from "./config.ts";

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
