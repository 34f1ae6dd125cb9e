import { resolve } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import type { HubSettingView } from "#protocol/fleet/hub-settings.ts";
import { email, password } from "#protocol/wire/requests.ts";
import type { ReallocationLimits } from "#protocol/links/judge-reallocation.ts";
import { readReallocationLimits } from "./settings/read-reallocation-limits.ts";
import { HUB_SETTINGS } from "./settings/hub-settings.ts";
import { describeSettings } from "./settings/describe-settings.ts";
import { readSaladApi, readSaladSettings, type SaladSettings } from "./settings/read-salad-settings.ts";
import { readReach, type ReachRules } from "./reach.ts";
import { readUpkeepSettings, type UpkeepSettings } from "./settings/read-maintenance-settings.ts";
import { readPostgres, type PostgresSettings } from "./settings/read-postgres.ts";
import { assertPlain, readSecret, textOf } from "./settings/read-secret.ts";
import { readRetention, type Retention } from "./settings/retention.ts";

/**
 * Reads the hub's settings from the environment. Every secret may also be given as a file, in the variable with `_FILE`
 * appended. The master key is not among them: the launcher withholds it from this process.
 */

export interface HubSettings {
  port: number;
  host: string;
  /** Absolute path. */
  dataFolder: string;
  /** PostgreSQL in place of the file in the data folder; null: the file. */
  postgres: PostgresSettings | null;
  /** The hub's address for people and nodes, for example `https://tidemark.example.com`; null: as in each request. */
  publicUrl: URL | null;
  /** Takes the caller's address from `x-forwarded-for`. */
  trustProxy: boolean;
  /** Access to /metrics. */
  metrics: MetricsDoor;
  /** Addresses at which stores may be. */
  reach: ReachRules;
  /** Whether to serve the pages; otherwise only the API answers. */
  withPages: boolean;
  /** The account to create at the first start, while there is none. */
  firstAdmin: { email: string; password: string } | null;
  /** Limits on giving machines back to their platform. */
  reallocation: ReallocationLimits;
  /** Workloads that may enroll without a join token; null: none. */
  salad: SaladSettings | null;
  /** The API of SaladCloud. */
  saladApi: URL;
  /** Age at which the hub asks a node for a new credential. */
  rotateAfterMs: number;
  /** How long audit entries are kept. */
  auditKeptMs: number;
  /** Schedule of backups and of the search for orphans. */
  upkeep: UpkeepSettings;
  /** How long history is kept. */
  history: Retention;
  logLevel: "debug" | "info" | "warn" | "error" | "silent";
  /** All settings as shown to an admin, without secrets. */
  described: readonly HubSettingView[];
}

export interface MetricsDoor {
  audience: "everyone" | "loopback" | "nobody";
  /** The bearer token that it also requires; null: none. */
  token: string | null;
}

type Variables = Readonly<Record<string, string | undefined>>;

const refuse = (name: string, detail: string): Fault => new Fault("BAD_INPUT", { subject: name, detail });

function flagOf(variables: Variables, name: string): boolean {
  const text = textOf(variables, name)?.toLowerCase() ?? "";
  if (["1", "true", "yes", "on"].includes(text)) return true;
  if (["", "0", "false", "no", "off"].includes(text)) return false;
  throw refuse(name, "it is 1 or 0");
}

/** Refuses any setting with remains of an env file, so that each reader may take its value as it is. */
function assertAllPlain(variables: Variables): void {
  for (const { name, mayBeFile, kept } of HUB_SETTINGS.flatMap(({ rows }) => rows)) {
    assertPlain(name, textOf(variables, name) ?? "", kept === "secret" ? "key" : "text");
    if (mayBeFile === true) assertPlain(`${name}_FILE`, textOf(variables, `${name}_FILE`) ?? "", "text");
  }
}

function portOf(variables: Variables): number {
  const text = textOf(variables, "TIDEMARK_PORT") ?? "7140";
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw refuse("TIDEMARK_PORT", "a port is a number from 0 to 65535");
  return port;
}

function publicUrlOf(variables: Variables): URL | null {
  const text = textOf(variables, "TIDEMARK_PUBLIC_URL");
  if (text === null) return null;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== "/" || url.search !== "") {
    throw refuse("TIDEMARK_PUBLIC_URL", "it looks like https://tidemark.example.com, without a path");
  }
  return url;
}

function firstAdminOf(variables: Variables): HubSettings["firstAdmin"] {
  const address = textOf(variables, "TIDEMARK_ADMIN_EMAIL");
  const secret = readSecret(variables, "TIDEMARK_ADMIN_PASSWORD");
  if (address === null && secret === null) return null;
  const parsedAddress = email.safeParse(address ?? "");
  if (!parsedAddress.success) throw refuse("TIDEMARK_ADMIN_EMAIL", "this does not look like an e-mail address");
  const parsedSecret = password.safeParse(secret ?? "");
  if (!parsedSecret.success) throw refuse("TIDEMARK_ADMIN_PASSWORD", "a password has 12 to 256 characters");
  return { email: parsedAddress.data, password: parsedSecret.data };
}

const SHORTEST_TOKEN = 16;

function metricsDoorOf(variables: Variables): MetricsDoor {
  const token = readSecret(variables, "TIDEMARK_METRICS_TOKEN");
  if (token !== null && token.length < SHORTEST_TOKEN) {
    throw refuse("TIDEMARK_METRICS_TOKEN", `a token has ${SHORTEST_TOKEN} characters or more`);
  }
  const text = textOf(variables, "TIDEMARK_METRICS") ?? "everyone";
  for (const audience of ["everyone", "loopback", "nobody"] as const) if (text === audience) return { audience, token };
  throw refuse("TIDEMARK_METRICS", "it is everyone, loopback or nobody");
}

function logLevelOf(variables: Variables): HubSettings["logLevel"] {
  const text = textOf(variables, "TIDEMARK_LOG") ?? "info";
  for (const level of ["debug", "info", "warn", "error", "silent"] as const) if (text === level) return level;
  throw refuse("TIDEMARK_LOG", "it is debug, info, warn, error or silent");
}

function daysOf(variables: Variables, name: string, usual: `${number}d`): number {
  const days = Number(/^(\d{1,4})d$/.exec(textOf(variables, name) ?? usual)?.[1] ?? 0);
  if (days < 1) throw refuse(name, `it is a number of days: ${usual}`);
  return days * 86_400_000;
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/;

/**
 * Reads the settings of the hub.
 * @throws Fault BAD_INPUT (naming the variable), READ_FAILED
 */
export function readSettings(variables: Variables): HubSettings {
  assertAllPlain(variables);
  const host = textOf(variables, "TIDEMARK_HOST") ?? "127.0.0.1";
  const dataFolder = resolve(textOf(variables, "TIDEMARK_DATA") ?? "data");
  const postgres = readPostgres(variables, (name) => readSecret(variables, name));
  return {
    port: portOf(variables),
    host,
    dataFolder,
    postgres,
    publicUrl: publicUrlOf(variables),
    trustProxy: flagOf(variables, "TIDEMARK_TRUST_PROXY"),
    metrics: metricsDoorOf(variables),
    reach: readReach(variables, { isLoopback: LOOPBACK.test(host) }),
    withPages: !flagOf(variables, "TIDEMARK_NO_UI"),
    firstAdmin: firstAdminOf(variables),
    reallocation: readReallocationLimits(variables),
    salad: readSaladSettings((name) => readSecret(variables, name)),
    saladApi: readSaladApi((name) => readSecret(variables, name)),
    rotateAfterMs: daysOf(variables, "TIDEMARK_ROTATE_CREDENTIALS", "30d"),
    auditKeptMs: daysOf(variables, "TIDEMARK_KEEP_AUDIT", "730d"),
    upkeep: readUpkeepSettings(variables, dataFolder),
    history: readRetention(variables),
    logLevel: logLevelOf(variables),
    described: describeSettings(variables),
  };
}
