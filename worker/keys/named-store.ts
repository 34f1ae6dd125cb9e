import { accessSync, constants } from "node:fs";
import { Fault } from "#protocol/faults/fault.ts";
import type { Config, LayerEntry, Layers } from "../command-line/config.ts";
import type { FlagName } from "../command-line/flags.ts";
import { readAwsProfile, type AwsProfile } from "./aws-profile.ts";
import type { KeyFacts, KeysFrom } from "../command-line/key-facts.ts";
import { readRclonePlace, readRcloneStore } from "./rclone-remote.ts";

/**
 * The store that a command means, by the files of other tools: a remote of rclone that an operand names, or a profile of
 * AWS. Explicit flags win over both, variables over what a profile says of the place; a key is always taken whole.
 */

export interface NamedStore {
  operands: readonly string[];
  layers: Layers;
  keysFrom: KeysFrom | null;
}

const refuse = (subject: string, detail: string): Fault => new Fault("BAD_INPUT", { op: "usage", subject, detail });

/**
 * @returns null where nothing is to be added to the settings.
 * @throws Fault BAD_INPUT: a profile or a remote that is not there, or that cannot be used
 */
export function nameStore(config: Config, asked: { command: string; operands: readonly string[] }): NamedStore | null {
  const { command, operands } = asked;
  if (!config.settings.some(({ name }) => name === "endpoint")) return null;
  const ofRclone = nameRemote(config, asked);
  if (ofRclone !== null) return ofRclone;
  // Without an address these are about a hub, or about the machine alone.
  if (operands.length === 0 && command !== "ls") return null;
  const { keyFacts } = config;
  const profile = settingOf(config, "profile");
  const isChosen = profile.source === "--profile" || profile.source === "TIDEMARK_PROFILE";
  const [hasId, hasSecret] = [config.text("access-key-id") !== null, config.text("secret-access-key") !== null];
  const hasKey = hasId && hasSecret && !isChosen;
  const named =
    profile.name === null || profile.source === null ? null : { name: profile.name, source: profile.source };
  // A variable that is left over from elsewhere does not stop a command that has its keys.
  // Neither does a home that is another user's (sudo, a container with a user of its own).
  const facts = hasKey && !keyFacts.areFilesNamed ? withReadable(keyFacts) : keyFacts;
  const read = readAwsProfile(facts, hasKey && named !== null && !hasProfile(facts, named) ? null : named);
  const below = placeOf(config, read);
  if (hasKey) return below.size === 0 ? null : { operands, layers: { above: new Map(), below }, keysFrom: null };
  // Half a key is a mistake, and is refused as that.
  if ((hasId || hasSecret) && !isChosen) return null;
  const source = `profile ${read.name}`;
  if (read.key !== null) {
    return { operands, layers: { above: keyEntries(read.key, source), below }, keysFrom: null };
  }
  const layers = { above: keyEntries(null, source), below };
  return { operands, layers, keysFrom: elsewhere(config, { read, named }) };
}

/** Without the files that this user may not read. */
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
 * The same for a command whose place stands in --to; `to` is that place as an address of the store.
 * @returns null where nothing is to be added to the settings. @throws Fault BAD_INPUT
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

/** Whoever names a provider means its own address. */
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

/** All three, so that no part of another key is left. */
const keyEntries = (key: Key | null, source: string): Map<FlagName, LayerEntry> =>
  new Map<FlagName, LayerEntry>([
    ["access-key-id", { values: key === null ? [] : [key.accessKeyId], source }],
    ["secret-access-key", { values: key === null ? [] : [key.secretAccessKey], source }],
    ["session-token", { values: key?.sessionToken === undefined ? [] : [key.sessionToken], source }],
  ]);

/** What the settings of a profile are to people. */
const WAYS: Readonly<Record<string, string>> = {
  role_arn: "the role",
  web_identity_token_file: "the web identity",
  credential_process: "the credential_process",
  sso_session: "the SSO session",
  sso_start_url: "the SSO session",
  login_session: "the login session",
};

/** Null where nobody gives keys here. @throws Fault BAD_INPUT where a profile was named that has no way to a key */
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

/** Operands with `rclone:` become addresses of the store that the remote stands for. */
function nameRemote(config: Config, asked: { command: string; operands: readonly string[] }): NamedStore | null {
  const places = asked.operands.map(readRclonePlace);
  const [first, ...more] = new Set(places.flatMap((place) => (place === null ? [] : [place.remote])));
  if (first === undefined) return null;
  const isMixed = asked.operands.some((operand) => operand.startsWith("s3://"));
  if (more.length > 0 || isMixed) {
    const detail = "both sides have to be in one store, named in the same way: copy through a local folder instead";
    throw refuse(asked.operands.join(" "), detail);
  }
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

/** `env_auth`: the key of the environment, or of the profile that the remote names. @throws Fault BAD_INPUT */
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
