import { existsSync, readFileSync } from "node:fs";
import { remainsOfEnvFile } from "#protocol/base/env-remains.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { parseDuration, parseRate, parseSize } from "#protocol/wire/read-units.ts";
import type { NetworkSettings } from "#storage/network/network.ts";
import type { Environment } from "../base/environment.ts";
import type { Rule } from "./cli.ts";
import type { CommandName } from "./commands.ts";
import { envName, flagEntries, FLAGS, flagsRead, variablesOf, type FlagName } from "./flags.ts";
import type { FlagSpec } from "./flag-spec.ts";
import { unknownVariablesWarning } from "./unknown-variables.ts";
import { homeIn, readKeyFacts, type KeyFacts, type KeysFrom } from "./key-facts.ts";
import { closest } from "./suggest.ts";
import { NO_LIMIT, parseTimetable, wallClockOf, type Timetable } from "./schedule.ts";

/**
 * Resolves settings and where each comes from. Precedence: flag, environment, file named by `..._FILE` (secrets), names
 * other tools use, default. This is the only file of the worker that interprets environment variables.
 */

export interface Setting {
  name: FlagName;
  spec: FlagSpec;
  values: readonly string[];
  /** `--part-size`, `TIDEMARK_PART_SIZE`, `AWS_REGION`, `default`, or null when it is not set. */
  source: string | null;
}

export interface Config {
  readonly settings: readonly Setting[];
  text(name: FlagName): string | null;
  list(name: FlagName): readonly string[];
  isOn(name: FlagName): boolean;
  /** Bytes, or bytes per second. */
  size(name: FlagName): number | null;
  durationMs(name: FlagName): number;
  count(name: FlagName): number;
  /** Bytes per second by time of day; no limit when it is not set. */
  limit(name: FlagName): Timetable;
  /** Bytes per second; null when it is not set, or off. */
  rate(name: FlagName): number | null;
  /** 0 to 0.95; 0 when it is on without a share, null when it is off. */
  share(name: FlagName): number | null;
  /** A whole number from 0, or null. */
  number(name: FlagName): number | null;
  /** --include and --exclude in the order given. Excludes from the environment come before them, includes from it after. */
  readonly rules: readonly Rule[];
  /** Configuration files of other tools, and the key providers of this machine. */
  readonly keyFacts: KeyFacts;
  /** Provider of temporary keys; null where the settings hold the keys, or there is no provider. */
  readonly keysFrom: KeysFrom | null;
  /** Warning about `TIDEMARK_` variables that nothing reads; null when there are none. */
  readonly unread: string | null;
}

/** Settings from files of other tools: `above` overrides the environment, `below` yields to it. No values: unset. */
export interface Layers {
  above: ReadonlyMap<FlagName, LayerEntry>;
  below: ReadonlyMap<FlagName, LayerEntry>;
}

export interface LayerEntry {
  values: readonly string[];
  source: string;
}

/** Resolves all settings of a command. @throws Fault BAD_INPUT naming the flag or variable whose value cannot be read. */
export function resolveConfig(input: {
  command: CommandName;
  flags: ReadonlyMap<FlagName, string[]>;
  rules?: readonly Rule[];
  env: Environment;
  layers?: Layers;
  keysFrom?: KeysFrom | null;
}): Config {
  const settings = flagsRead(input.command, input).map(([name, spec]) => resolveOne({ name, spec }, input));
  const byName = new Map(settings.map((setting) => [setting.name, setting]));
  const text = (name: FlagName) => byName.get(name)?.values[0] ?? null;
  const reading = <T>(name: FlagName, read: (value: string) => T): T | null => {
    const setting = byName.get(name);
    const value = setting?.values[0];
    if (setting === undefined || value === undefined) return null;
    try {
      return read(value);
    } catch (error) {
      const detail = error instanceof Fault ? error.context.detail : undefined;
      throw new Fault("BAD_INPUT", {
        op: "usage",
        subject: `${setting.source ?? name} ${value}`,
        ...(detail && { detail }),
      });
    }
  };
  const fromElsewhere = (name: "include" | "exclude"): Rule[] => {
    if (input.flags.has(name)) return [];
    return (byName.get(name)?.values ?? []).map((glob) => ({ takes: name === "include", glob }));
  };
  const config: Config = {
    settings,
    text,
    list: (name) => byName.get(name)?.values ?? [],
    isOn: (name) => reading(name, parseSwitch) ?? false,
    size: (name) => reading(name, (value) => parseSize(value.replace(/\/s$/i, ""))),
    durationMs: (name) => reading(name, parseDuration) ?? 0,
    count: (name) => reading(name, parseCount) ?? 0,
    limit: (name) => reading(name, parseTimetable) ?? NO_LIMIT,
    rate: (name) => reading(name, parseLeast),
    share: (name) => reading(name, parseShare),
    number: (name) => reading(name, parseWhole),
    rules: [...fromElsewhere("exclude"), ...(input.rules ?? []), ...fromElsewhere("include")],
    keyFacts: readKeyFacts(input.env),
    keysFrom: input.keysFrom ?? null,
    unread: unknownVariablesWarning(input.env),
  };
  for (const { name, spec } of settings) readOnce(config, name, spec);
  reading("time-zone", wallClockOf);
  return config;
}

/** Reads every value once, so that a bad one is refused before anything starts. */
function readOnce(config: Config, name: FlagName, spec: FlagSpec): void {
  const refuse = (detail: string) => {
    const setting = config.settings.find((one) => one.name === name);
    const subject = `${setting?.source ?? name} ${config.text(name) ?? ""}`;
    throw new Fault("BAD_INPUT", { op: "usage", subject, detail });
  };
  if (spec.kind === "size") {
    const bytes = config.size(name);
    if (spec.least !== undefined && bytes !== null && bytes < spec.least.bytes) refuse(spec.least.why);
  }
  if (spec.kind === "duration" && config.durationMs(name) === 0 && spec.notZero !== undefined) refuse(spec.notZero);
  if (spec.words !== undefined)
    assertOneOf(
      spec.words,
      config.settings.find((one) => one.name === name && !(spec.orNumber === true && isNumber(one))),
    );
  if (spec.kind === "count") config.count(name);
  if (spec.kind === "limit") config.limit(name);
  if (spec.kind === "rate") config.rate(name);
  if (spec.kind === "share") config.share(name);
  if (spec.kind === "number") config.number(name);
  if (spec.kind === "switch") config.isOn(name);
}

const isNumber = ({ values }: Setting): boolean => /^\d+$/.test(values[0] ?? "");

/** Refuses a value that is not among the words. A word may have an argument after a colon: `on-failure:5`. */
function assertOneOf(words: readonly string[], setting: Setting | undefined): void {
  const [value] = setting?.values ?? [];
  if (value === undefined || words.some((word) => isWord(value.toLowerCase(), word.toLowerCase()))) return;
  const near = closest(value, words);
  const all = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
  const detail = near === null ? all : `did you mean ${near}? It takes ${all}`;
  throw new Fault("BAD_INPUT", { op: "usage", subject: `${setting?.source ?? ""} ${value}`, detail });
}

const isWord = (value: string, word: string): boolean => value === word || value.startsWith(`${word}:`);

const isOn = (text: string): boolean => ["true", "1", "yes", "on"].includes(text.toLowerCase());
const isOff = (text: string): boolean => ["false", "0", "no", "off"].includes(text.toLowerCase());

function parseSwitch(value: string): boolean {
  if (isOn(value)) return true;
  if (isOff(value)) return false;
  throw new Fault("BAD_INPUT", { detail: "on or off" });
}

function parseWhole(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new Fault("BAD_INPUT", { detail: "a whole number" });
}

/** Reads a minimum rate; 0 and "off" set no minimum. */
const parseLeast = (value: string): number | null =>
  ["off", "none", "0"].includes(value.toLowerCase()) ? null : parseRate(value) || null;

function parseShare(value: string): number | null {
  if (isOn(value)) return 0;
  if (isOff(value)) return null;
  const percent = Number(/^(\d{1,2})%?$/.exec(value)?.[1] ?? Number.NaN);
  if (percent >= 1 && percent <= 95) return percent / 100;
  throw new Fault("BAD_INPUT", { detail: "on, off, or the share that is left to others, 1% to 95%" });
}

function parseCount(value: string): number {
  const count = Number(value);
  if (Number.isInteger(count) && count >= 1 && count <= 256) return count;
  throw new Fault("BAD_INPUT", { detail: "a whole number from 1 to 256" });
}

function resolveOne(
  flag: { name: FlagName; spec: FlagSpec },
  from: { command: CommandName; flags: ReadonlyMap<FlagName, string[]>; env: Environment; layers?: Layers },
): Setting {
  const { name, spec } = flag;
  const given = from.flags.get(name);
  if (given !== undefined) return { name, spec, values: given, source: `--${name}` };
  const above = from.layers?.above.get(name);
  if (above !== undefined) return { name, spec, ...above };
  const own = envName(name);
  for (const variable of variablesOf(name, spec)) {
    const value = from.env[variable];
    if (value !== undefined && value !== "") {
      assertPlain(variable, value, spec.kind === "secret" ? "key" : "text");
      return { name, spec, values: split(value, flag, variable), source: variable };
    }
    const file = variable === own && spec.kind === "secret" ? from.env[`${variable}_FILE`] : undefined;
    if (file !== undefined && file !== "") {
      return { name, spec, values: [readSecret(file, `${variable}_FILE`)], source: `${variable}_FILE` };
    }
  }
  const below = from.layers?.below.get(name);
  if (below !== undefined) return { name, spec, ...below };
  const value = spec.default ?? (from.command === "run" ? spec.defaultOfRun : undefined);
  return value === undefined
    ? { name, spec, values: [], source: null }
    : { name, spec, values: [value], source: "default" };
}

/**
 * Refuses a value with remains of an env file that no shell has read. Without this check, a store would report a quoted key
 * as a wrong key. @throws Fault BAD_INPUT without the value
 */
function assertPlain(name: string, value: string, kind: "text" | "key" | "file of a key" = "text"): void {
  const found = remainsOfEnvFile(value, { name, kind });
  if (found === null) return;
  throw new Fault("BAD_INPUT", { op: "usage", subject: name, detail: `its value ${found}; take that out` });
}

/** Splits a value at a separator; a backslash before the separator makes it part of the value. */
const cutAt = (value: string, separator: string): string[] =>
  value
    .split(new RegExp(`(?<!\\\\)${separator}`))
    .map((part) => part.replaceAll(`\\${separator}`, separator))
    .filter((part) => part !== "");

function split(value: string, { name, spec }: { name: FlagName; spec: FlagSpec }, variable: string): string[] {
  if (spec.kind !== "list" && spec.kind !== "rules") return [value];
  if (name === "watch" || name === "restore-to") return splitFolders(value, variable);
  // A comma inside of braces belongs to the glob: `*.{bin,pt}`.
  return cutAt(value, ",").reduce<string[]>((parts, part) => {
    const last = parts.at(-1);
    if (last !== undefined && isOpen(last)) parts[parts.length - 1] = `${last},${part}`;
    else parts.push(part);
    return parts;
  }, []);
}

const isOpen = (glob: string): boolean => glob.lastIndexOf("{") > glob.lastIndexOf("}");

/**
 * Splits folders at `:`. A colon belongs to a path where a backslash is before it, or where that path is there. A folder
 * after a colon begins with `/`, `.` or `~`, or exists: any other text may be the rest of a path.
 * @throws Fault BAD_INPUT where a colon may belong to a path
 */
function splitFolders(value: string, variable: string): string[] {
  if (value.includes(":") && existsSync(value)) return [value];
  const refuse = (detail: string) => new Fault("BAD_INPUT", { op: "usage", subject: `${variable} ${value}`, detail });
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) throw refuse("it is a folder of this machine, not an address");
  const parts = cutAt(value, ":");
  const folders: string[] = [];
  for (let at = 0; at < parts.length;) {
    const rest = parts.slice(at);
    const length = rest.findLastIndex((_, end) => end > 0 && existsSync(rest.slice(0, end + 1).join(":"))) + 1;
    const folder = rest.slice(0, Math.max(1, length)).join(":");
    if (folders.length > 0 && !/^[/.~]/.test(folder) && !existsSync(folder)) {
      throw refuse(
        `":" is between folders; is ${folder} one of its own (write ./${folder}), or does the colon belong to a path (write \\:)?`,
      );
    }
    folders.push(folder);
    at += Math.max(1, length);
  }
  return folders;
}

function readSecret(path: string, variable: string): string {
  assertPlain(variable, path);
  try {
    const value = readFileSync(path, "utf8").trim();
    assertPlain(variable, value, "file of a key");
    return value;
  } catch (error) {
    if (isFault(error)) throw error;
    throw new Fault("BAD_INPUT", {
      op: "usage",
      subject: variable,
      detail: `the file ${path} cannot be read`,
      cause: error,
    });
  }
}

/** Returns one setting as the environment has it, and its Fault: read one by one, a bad setting hides no other. */
export function examineSetting(
  command: CommandName,
  name: FlagName,
  env: Environment,
): { setting: Setting; fault: Fault | null } {
  const spec: FlagSpec = FLAGS[name];
  const own = envName(name);
  const set = [own, `${own}_FILE`, ...variablesOf(name, spec)].filter((variable) => (env[variable] ?? "") !== "");
  const from = { command, flags: new Map(), env: Object.fromEntries(set.map((variable) => [variable, env[variable]])) };
  try {
    resolveConfig(from);
    return { setting: resolveOne({ name, spec }, from), fault: null };
  } catch (error) {
    if (!isFault(error)) throw error;
    const [source = own] = set;
    // The value in an unreadable file is unknown.
    const values = source.endsWith("_FILE") ? [] : [env[source] ?? ""];
    return { setting: { name, spec, values, source }, fault: error };
  }
}

/** Returns the text of a setting to show to people; secrets are masked. */
export function shownValue(setting: Setting): string {
  if (setting.values.length === 0) return "(not set)";
  if (setting.spec.kind !== "secret") return setting.values.join(", ");
  return (setting.values[0] ?? "").length > 12 ? `${(setting.values[0] ?? "").slice(0, 3)}...` : "***";
}

/** Returns the form of the output: JSON lines (`json`), or text without redrawing (`plain`). No output has colors: NO_COLOR changes nothing. */
export function terminalOptions(
  env: Environment,
  flags: ReadonlyMap<FlagName, string[]>,
): { plain: boolean; json: boolean } {
  const isSet = (name: string) => env[name] !== undefined && env[name] !== "";
  return {
    json: isOn(flags.get("json")?.[0] ?? env[envName("json")] ?? ""),
    plain: isSet("CI") || env["TERM"] === "dumb",
  };
}

/** Returns the proxies and certificate authorities of this process, each with the flag or variable that named it. */
export function networkSettings(env: Environment, config?: Config): NetworkSettings {
  const sourceOf = (name: FlagName) => config?.settings.find((one) => one.name === name)?.source ?? `--${name}`;
  const proxy = config?.text("proxy") ?? null;
  const noProxy = config?.text("no-proxy") ?? null;
  return {
    env,
    ...(proxy !== null && { proxy: { text: proxy, source: sourceOf("proxy") } }),
    ...(noProxy !== null && { noProxy }),
    authorities: (config?.list("ca") ?? []).map((file) => ({ file, source: sourceOf("ca") })),
  };
}

/** Returns the environment for a program that the worker starts: the worker's own without its secrets, plus `more`. */
export function programEnvironment(env: Environment, more: Environment): Environment {
  const secrets = new Set(
    flagEntries
      .filter(([, { kind }]) => kind === "secret")
      .flatMap(([name]) => [envName(name), `${envName(name)}_FILE`]),
  );
  return { ...Object.fromEntries(Object.entries(env).filter(([name]) => !secrets.has(name))), ...more };
}

export interface PlatformFacts {
  machineId: string | null;
  home: string | null;
  searchPath: string | null;
  /** CUDA_VISIBLE_DEVICES; null: all GPUs are visible. Empty: none is. */
  visibleGpus: string | null;
  /** Address of the platform's metadata service; null: the well-known one. */
  imdsUrl: string | null;
  /** Variables passed to the programs of other tools. */
  passedOn: Readonly<Record<string, string>>;
}

/** Variables for proxies, certificates and Python's search path. They hold no secret of a store. */
const WAY_OUT =
  /^(?:HTTPS?_PROXY|NO_PROXY|ALL_PROXY|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|AWS_CA_BUNDLE|REQUESTS_CA_BUNDLE|PYTHONPATH|PYTHONUSERBASE|LD_LIBRARY_PATH|TMPDIR)$/i;

function passedOn(env: Environment): Record<string, string> {
  const found = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && WAY_OUT.test(name) ? [[name, value] as const] : [],
  );
  // Other tools run with an empty folder as HOME, but packages from `pip install --user` lie below the real home.
  const home = homeIn(env);
  return { ...(home === null ? {} : { PYTHONUSERBASE: `${home}/.local` }), ...Object.fromEntries(found) };
}

/** Returns the facts that a platform puts into the environment. */
export function platformFacts(env: Environment): PlatformFacts {
  const read = (name: string) => (env[name] === "" ? null : (env[name] ?? null));
  return {
    machineId: read("SALAD_MACHINE_ID"),
    home: homeIn(env),
    searchPath: read("PATH"),
    visibleGpus: env["CUDA_VISIBLE_DEVICES"] ?? null,
    imdsUrl: read("TIDEMARK_IMDS_URL"),
    passedOn: passedOn(env),
  };
}
