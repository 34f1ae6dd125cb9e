import { readFileSync } from "node:fs";
import { Fault } from "#protocol/faults/fault.ts";
import { takeApart } from "#storage/import/read-text.ts";
import type { Credential } from "#storage/signing/sigv4.ts";
import type { KeyFacts } from "../command-line/key-facts.ts";

/** The settings of one profile in `~/.aws/config` and `~/.aws/credentials` that a transfer needs. */
export interface AwsProfile {
  name: string;
  endpoint: string | null;
  region: string | null;
  addressing: "path" | "virtual-host" | null;
  /** Key in the files themselves. */
  key: Credential | null;
  /** Name of the setting that refers to a provider of keys: `role_arn`. */
  keysBy: string | null;
}

/** Generous limits for the AWS files: some tools write one profile for each account of an organization. */
const LIMITS = { lines: 100_000, sections: 10_000 };
const MOST_BYTES = 4 * 1024 * 1024;

/** Settings that refer to a provider of keys, in the SDK's order. */
const ELSEWHERE = [
  "role_arn",
  "web_identity_token_file",
  "credential_process",
  "sso_session",
  "sso_start_url",
  "login_session",
];

type Values = ReadonlyMap<string, string>;

/** Returns the text of a file; empty when the file does not exist. @throws Fault BAD_INPUT where it cannot be read */
export function readSettingsFile(path: string | null): string {
  if (path === null) return "";
  try {
    const bytes = readFileSync(path);
    if (bytes.length > MOST_BYTES) throw new Error("too large");
    return bytes.toString("utf8");
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, "code") : null;
    if (code === "ENOENT" || code === "ENOTDIR") return "";
    throw new Fault("BAD_INPUT", { op: "keys", subject: path, detail: "this file cannot be read", cause: error });
  }
}

/** Returns the name in a section header: `profile NAME` in config, `NAME` in credentials; names with spaces are quoted. */
const nameOf = (section: string): string => section.replace(/^profile\s+/, "").replace(/^(["'])(.*)\1$/, "$2");

interface Files {
  profiles: Map<string, Values>;
  services: Map<string, Values>;
}

function readFiles({ configFile, credentialsFile }: Pick<KeyFacts, "configFile" | "credentialsFile">): Files {
  const files: Files = { profiles: new Map(), services: new Map() };
  const add = (name: string, values: Values) =>
    files.profiles.set(name, new Map([...(files.profiles.get(name) ?? []), ...values]));
  for (const { name, values } of takeApart(readSettingsFile(configFile), LIMITS).sections) {
    const service = /^services\s+(.+)$/.exec(name)?.[1];
    if (service !== undefined) files.services.set(nameOf(service), values);
    else if (name === "default" || name.startsWith("profile ")) add(nameOf(name), values);
  }
  // The credentials file is added last, because its values win over those of config.
  for (const { name, values } of takeApart(readSettingsFile(credentialsFile), LIMITS).sections)
    add(nameOf(name), values);
  return files;
}

const MOST_NAMED = 8;

/**
 * Reads the named profile or `default`; without a name and a `default`, returns an empty profile.
 * @throws Fault BAD_INPUT where the named profile is in neither file
 */
export function readAwsProfile(facts: KeyFacts, named: { name: string; source: string } | null): AwsProfile {
  const { profiles, services } = readFiles(facts);
  const name = named?.name ?? "default";
  const found = profiles.get(name);
  if (found === undefined && named !== null) {
    const others = [...profiles.keys()].slice(0, MOST_NAMED).join(", ");
    const where = [facts.configFile, facts.credentialsFile].filter((file) => file !== null).join(" or ");
    const detail = `no profile of this name is in ${where || "~/.aws: this user has no home"}${others === "" ? "" : `; there are ${others}`}`;
    throw new Fault("BAD_INPUT", { op: "usage", subject: `${named.source} ${name}`, detail });
  }
  const values = found ?? new Map<string, string>();
  const text = (...keys: string[]): string | null =>
    keys.map((key) => values.get(key)).find((value) => value !== undefined && value !== "") ?? null;
  const service = services.get(text("services") ?? "");
  const style = text("s3.addressing_style");
  const [accessKeyId, secretAccessKey, sessionToken] = [
    text("aws_access_key_id"),
    text("aws_secret_access_key"),
    text("aws_session_token"),
  ];
  // With role_arn, the key only serves to assume the role.
  const hasKey = accessKeyId !== null && secretAccessKey !== null && text("role_arn") === null;
  return {
    name,
    endpoint: facts.ignoresEndpoints
      ? null
      : (service?.get("s3.endpoint_url") ?? text("s3.endpoint_url", "endpoint_url")),
    region: text("region"),
    addressing: style === "path" ? "path" : style === "virtual" ? "virtual-host" : null,
    key: hasKey ? { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) } : null,
    keysBy: ELSEWHERE.find((key) => values.has(key)) ?? null,
  };
}
