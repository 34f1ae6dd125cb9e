import { accessSync, constants } from "node:fs";
import { Fault } from "#protocol/faults/fault.ts";
import type { Config, LayerEntry, Layers } from "../command-line/config.ts";
import type { FlagName } from "../command-line/flags.ts";
import { readAwsProfile, type AwsProfile } from "./aws-profile.ts";
import type { KeyFacts, KeysFrom } from "../command-line/key-facts.ts";
import { readRclonePlace, readRcloneStore } from "./rclone-remote.ts";

/**
 * Finds a command's store and keys in configuration files of other tools: an rclone remote that an operand names, or an
 * AWS profile. Flags win over both; variables win over a profile's endpoint, region and addressing. Key id, secret and
 * session token always come from the same source.
 */

export interface NamedStore {
  operands: readonly string[];
  layers: Layers;
  keysFrom: KeysFrom | null;
}

const refuse = (subject: string, detail: string): Fault => new Fault("BAD_INPUT", { op: "usage", subject, detail });

/**
 * Returns settings and operands from files of other tools; null where they add nothing.
 * @throws Fault BAD_INPUT for a profile or remote that does not exist or cannot be used
 */
export function nameStore(config: Config, asked: { command: string; operands: readonly string[] }): NamedStore | null {
  const { command, operands } = asked;
  if (!config.settings.some(({ name }) => name === "endpoint")) return null;
  const ofRclone = nameRemote(config, asked);
  if (ofRclone !== null) return ofRclone;
  // Without an address, commands such as probe and doctor concern the hub or this machine, not a store of the user.
  if (operands.length === 0 && command !== "ls") return null;
  const { keyFacts } = config;
  const profile = settingOf(config, "profile");
  const isChosen = profile.source === "--profile" || profile.source === "TIDEMARK_PROFILE";
  const [hasId, hasSecret] = [config.text("access-key-id") !== null, config.text("secret-access-key") !== null];
  const hasKey = hasId && hasSecret && !isChosen;
  const named =
    profile.name === null || profile.source === null ? null : { name: profile.name, source: profile.source };
  // A command that has its keys must not fail because of a stale AWS_PROFILE,
  // nor because HOME belongs to another user (sudo, a container with its own user).
  const facts = hasKey && !keyFacts.areFilesNamed ? withReadable(keyFacts) : keyFacts;
  if (facts === keyFacts) assertPlain(keyFacts, (name) => name.startsWith("AWS_"));
  const read = readAwsProfile(facts, hasKey && named !== null && !hasProfile(facts, named) ? null : named);
  const below = placeOf(config, read);
  if (hasKey) return below.size === 0 ? null : { operands, layers: { above: new Map(), below }, keysFrom: null };
  // Half a key is a mistake; null leaves it to be refused later, instead of taking another key.
  if ((hasId || hasSecret) && !isChosen) return null;
  const source = `profile ${read.name}`;
  if (read.key !== null) {
    return { operands, layers: { above: keyEntries(read.key, source), below }, keysFrom: null };
  }
  const layers = { above: keyEntries(null, source), below };
  return { operands, layers, keysFrom: elsewhere(config, { read, named }) };
}

/** @throws Fault BAD_INPUT for a variable among `isRead` with remains of an env file */
function assertPlain({ notPlain }: KeyFacts, isRead: (name: string) => boolean): void {
  const first = notPlain.find(({ name }) => isRead(name));
  if (first !== undefined) throw refuse(first.name, `its value ${first.found}; take that out`);
}

/** Returns the facts without AWS files that this user may not read. */
function withReadable(facts: KeyFacts): KeyFacts {
  const readable = (path: string | null): string | null => {
    if (path === null) return null;
    try {
      accessSync(path, constants.R_OK);
      return path;
    } catch {
      return null;
    }
  };
  return { ...facts, configFile: readable(facts.configFile), credentialsFile: readable(facts.credentialsFile) };
}

/**
 * Does the same for a command whose store is named by --to; `to` is that place in the form s3://bucket/prefix.
 * Returns null where the files add nothing. @throws Fault BAD_INPUT
 */
export function nameStandaloneStore(config: Config, command: string): (NamedStore & { to: string }) | null {
  const to = config.text("to");
  if (to === null) return null;
  const named = nameStore(config, { command, operands: [to] });
  return named === null ? null : { ...named, to: named.operands[0] ?? to };
}

function hasProfile(facts: KeyFacts, named: { name: string; source: string }): boolean {
  try {
    readAwsProfile(facts, named);
    return true;
  } catch {
    return false;
  }
}

function settingOf(config: Config, name: FlagName): { name: string | null; source: string | null } {
  const setting = config.settings.find((one) => one.name === name);
  return { name: setting?.values[0] ?? null, source: setting?.source ?? null };
}

/** Returns the profile's endpoint, region and addressing. With --provider that provider's own endpoint is meant instead. */
function placeOf(config: Config, read: AwsProfile): Map<FlagName, LayerEntry> {
  const entries: [FlagName, string | null][] = [
    ["endpoint", config.text("provider") === "auto" ? read.endpoint : null],
    ["region", read.region],
    ["addressing", read.addressing],
  ];
  const source = `profile ${read.name}`;
  return new Map(
    entries.flatMap(([name, value]) => (value === null ? [] : [[name, { values: [value], source }] as const])),
  );
}

type Key = { accessKeyId: string; secretAccessKey: string; sessionToken?: string };

/** Sets all three settings of a key, so that no part of another key remains. */
const keyEntries = (key: Key | null, source: string): Map<FlagName, LayerEntry> =>
  new Map<FlagName, LayerEntry>([
    ["access-key-id", { values: key === null ? [] : [key.accessKeyId], source }],
    ["secret-access-key", { values: key === null ? [] : [key.secretAccessKey], source }],
    ["session-token", { values: key?.sessionToken === undefined ? [] : [key.sessionToken], source }],
  ]);

/** Names of key providers in messages, by the setting of the profile. */
const WAYS: Readonly<Record<string, string>> = {
  role_arn: "the role",
  web_identity_token_file: "the web identity",
  credential_process: "the credential_process",
  sso_session: "the SSO session",
  sso_start_url: "the SSO session",
  login_session: "the login session",
};

/** Returns the provider of temporary keys; null without one. @throws Fault BAD_INPUT for a named profile without either */
function elsewhere(
  config: Config,
  about: { read: AwsProfile; named: { name: string; source: string } | null },
): KeysFrom | null {
  const { read, named } = about;
  const { configFile, credentialsFile, given, asksInstance } = config.keyFacts;
  const files = { configFile, credentialsFile };
  if (read.keysBy !== null) {
    const says = `${WAYS[read.keysBy] ?? read.keysBy} of the profile ${read.name}`;
    return { kind: "profile", profile: read.name, says, ...files };
  }
  if (named !== null) {
    throw refuse(
      `${named.source} ${named.name}`,
      "this profile has neither a key nor a role, SSO session or credential_process",
    );
  }
  if (given === "web identity") return { kind: given, profile: null, says: "AWS_WEB_IDENTITY_TOKEN_FILE", ...files };
  if (given === "container") return { kind: given, profile: null, says: "the role of this container", ...files };
  if (!asksInstance) return null;
  return { kind: "instance", profile: null, says: "the role of this instance", ...files };
}

/** Turns operands `rclone:REMOTE:path` into s3:// addresses and the remote into settings; null without such operands. */
function nameRemote(config: Config, asked: { command: string; operands: readonly string[] }): NamedStore | null {
  const places = asked.operands.map(readRclonePlace);
  const [first, ...more] = new Set(places.flatMap((place) => (place === null ? [] : [place.remote])));
  if (first === undefined) return null;
  const isMixed = asked.operands.some((operand) => operand.startsWith("s3://"));
  if (more.length > 0 || isMixed) {
    const detail = "both sides have to be in one store, named in the same way: copy through a local folder instead";
    throw refuse(asked.operands.join(" "), detail);
  }
  const start = `RCLONE_CONFIG_${first.toUpperCase()}_`;
  assertPlain(config.keyFacts, (name) => name === "RCLONE_CONFIG" || name.startsWith(start));
  const store = readRcloneStore(config.keyFacts, first);
  if (store.endpoint === null && store.provider === "b2" && settingOf(config, "endpoint").source !== "--endpoint") {
    const detail =
      "rclone's b2 does not say where its S3 is: add --endpoint https://s3.REGION.backblazeb2.com, as the bucket's page shows it";
    throw refuse(`rclone:${first}:`, detail);
  }
  const source = `rclone.conf ${first}`;
  const set = (value: string | null): LayerEntry => ({ values: value === null ? [] : [value], source });
  const above = new Map<FlagName, LayerEntry>([
    ...keyEntries(store.key, source),
    ["endpoint", set(store.endpoint)],
    ["region", set(store.region)],
    ["provider", set(store.provider)],
    ["addressing", set(store.addressing ?? "auto")],
  ]);
  const operands = asked.operands.flatMap((operand, index) => {
    const place = places[index] ?? null;
    if (place === null) return [operand];
    return place.path === "" && asked.command === "ls" ? [] : [`s3://${place.path}`];
  });
  const layers = { above, below: new Map<FlagName, LayerEntry>() };
  if (store.key !== null) return { operands, layers, keysFrom: null };
  return nameEnvAuth(config, { store, operands, layers });
}

/** Finds keys for a remote with `env_auth`: those of the environment, or of the profile that it names. @throws Fault BAD_INPUT */
function nameEnvAuth(
  config: Config,
  about: Pick<NamedStore, "operands"> & {
    layers: { above: Map<FlagName, LayerEntry>; below: Map<FlagName, LayerEntry> };
    store: ReturnType<typeof readRcloneStore>;
  },
): NamedStore {
  const { store, operands, layers } = about;
  const { profile, credentialsFile } = store;
  const hasKey = config.text("access-key-id") !== null && config.text("secret-access-key") !== null;
  if (hasKey && profile === null) {
    for (const name of ["access-key-id", "secret-access-key", "session-token"] as const) layers.above.delete(name);
    return { operands, layers, keysFrom: null };
  }
  const facts = credentialsFile === null ? config.keyFacts : { ...config.keyFacts, credentialsFile };
  const named = profile === null ? null : { name: profile, source: "profile" };
  const read = readAwsProfile(facts, named);
  if (read.key !== null) {
    for (const [name, entry] of keyEntries(read.key, `profile ${read.name}`)) layers.above.set(name, entry);
    return { operands, layers, keysFrom: null };
  }
  const keysFrom = elsewhere(config, { read, named });
  return {
    operands,
    layers,
    keysFrom: keysFrom === null ? null : { ...keysFrom, credentialsFile: facts.credentialsFile },
  };
}
