import { Fault } from "#protocol/faults/fault.ts";
import { readRclone } from "#storage/import/from-sections.ts";
import { sectionsOf } from "#storage/import/from-variables.ts";
import { takeApart, type Section } from "#storage/import/read-text.ts";
import { providerOfHost } from "#storage/providers/provider-hosts.ts";
import type { Credential } from "#storage/signing/sigv4.ts";
import { readSettingsFile } from "./aws-profile.ts";
import type { KeyFacts } from "../command-line/key-facts.ts";

/** Reads rclone remotes, so that `rclone:r2:bucket/key` names a place in the store of the remote `r2`. */

export interface RclonePlace {
  remote: string;
  /** `bucket/key`; empty for the store itself. */
  path: string;
}

/** Returns null for anything that does not begin with `rclone:`. @throws Fault BAD_INPUT where the remote is missing */
export function readRclonePlace(operand: string): RclonePlace | null {
  if (!operand.startsWith("rclone:")) return null;
  const [, remote, path] = /^rclone:([^:/]{1,128}):\/?(.*)$/s.exec(operand) ?? [];
  if (remote !== undefined && path !== undefined) return { remote, path };
  throw refuse(operand, "a remote of rclone is named like rclone:REMOTE:bucket/key");
}

export interface RcloneStore {
  /** Null: the endpoint follows from provider and region. */
  endpoint: string | null;
  region: string | null;
  /** A value of --provider. */
  provider: string;
  addressing: "path" | "virtual-host" | null;
  /** Null with `env_auth`: the keys come from the environment or a profile. */
  key: Credential | null;
  /** With `env_auth`: the AWS profile and credentials file that the remote names. */
  profile: string | null;
  credentialsFile: string | null;
}

type Files = Pick<KeyFacts, "rcloneFiles" | "rcloneVariables">;

const refuse = (subject: string, detail: string): Fault => new Fault("BAD_INPUT", { op: "usage", subject, detail });

const LIMITS = { lines: 100_000, sections: 10_000 };
const MOST_NAMED = 8;

/** Reasons why a remote cannot be used, by its type. */
const WHY_NOT: Readonly<Record<string, string>> = {
  crypt:
    "it is a crypt remote: what rclone encrypts only rclone can read; name the remote below it to copy the encrypted objects as they are",
  alias: "it is an alias: name the remote that it stands for, with its bucket",
  chunker: "it is a chunker remote: what rclone cuts only rclone can join",
  compress: "it is a compress remote: what rclone compresses only rclone can read",
  union: "it is a union of remotes: name one of them",
  combine: "it is a combination of remotes: name one of them",
  storj: "an access grant of Storj is no S3 key; make one with uplink share --register",
};

/** Reads a remote. @throws Fault BAD_INPUT when it does not exist, is no S3 store, or has no keys */
export function readRcloneStore(facts: Files, remote: string): RcloneStore {
  const subject = `rclone:${remote}:`;
  const sections = readSections(facts, subject);
  const rcloneNames = new Set(sectionsOf(facts.rcloneVariables).map(({ name }) => name));
  const section = sections.find(
    ({ name }) => name === remote || (rcloneNames.has(name) && name === remote.toLowerCase()),
  );
  if (section === undefined) {
    const others = sections.slice(0, MOST_NAMED).map(({ name }) => name);
    const where = facts.rcloneFiles[0] ?? "an rclone.conf";
    throw refuse(
      subject,
      `no remote of this name is in ${where}${others.length === 0 ? "" : `; there are ${others.join(", ")}`}`,
    );
  }
  const valueOf = (key: string): string | null => section.values.get(key) || null;
  const type = valueOf("type")?.toLowerCase() ?? "";
  if (type !== "s3" && type !== "b2") {
    const known = Object.hasOwn(WHY_NOT, type) ? WHY_NOT[type] : undefined;
    throw refuse(subject, known ?? `its type is ${type || "missing"}, which does not speak S3`);
  }
  const [found] = readRclone([section]).remotes;
  if (found === undefined) throw refuse(subject, "it cannot be read");
  const { endpoint: written, region, provider, addressing, accessKeyId, secretAccessKey, sessionToken } = found.read;
  // rclone accepts an endpoint without a scheme.
  const endpoint = written === null ? null : /^https?:\/\//i.test(written) ? written : `https://${written}`;
  const isFromElsewhere = /^(?:1|true|yes|on)$/i.test(valueOf("env_auth") ?? "");
  const isWhole = accessKeyId !== null && secretAccessKey !== null;
  if (!isWhole && !isFromElsewhere)
    throw refuse(subject, "it has no access_key_id and secret_access_key, and env_auth is off");
  return {
    endpoint,
    region,
    provider: (endpoint === null ? null : providerOfHost(endpoint)) ?? provider ?? "auto",
    addressing,
    key: isWhole ? { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) } : null,
    profile: valueOf("profile"),
    credentialsFile: valueOf("shared_credentials_file"),
  };
}

/** Returns remotes of the first existing file, and of variables, which win. @throws Fault BAD_INPUT for an encrypted file */
function readSections({ rcloneFiles, rcloneVariables }: Files, subject: string): Section[] {
  const text = rcloneFiles.map(readSettingsFile).find((one) => one !== "") ?? "";
  if (/^RCLONE_ENCRYPT_V\d:/m.test(text)) {
    const detail =
      "rclone.conf is encrypted with a password; set RCLONE_CONFIG_REMOTE_TYPE and the other variables of this remote instead, or take the password away with rclone config";
    throw refuse(subject, detail);
  }
  // rclone uses values literally, without removing quotes.
  const own = takeApart(text, LIMITS).sections.map((section) => ({ ...section, values: section.literal }));
  const named = sectionsOf(rcloneVariables);
  return [...named, ...own.filter(({ name }) => !named.some((one) => one.name === name.toLowerCase()))];
}
