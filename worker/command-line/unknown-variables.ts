import { plainNameOf } from "#protocol/base/env-remains.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { Environment } from "../base/environment.ts";
import { envName, flagEntries } from "./flags.ts";
import { closest } from "./suggest.ts";

/**
 * Finds `TIDEMARK_` variables that nothing reads. Without a warning, a user would believe that a misspelled
 * `TIDEMARK_PART_SISE` takes effect.
 */

/** Variables that the worker passes to programs, or reads without a flag. */
const OURS = [
  "TIDEMARK_SOCKET",
  "TIDEMARK_LOCAL_URL",
  "TIDEMARK_LOCAL_TOKEN_FILE",
  "TIDEMARK_STEP_RECORD",
  "TIDEMARK_RESUME_PATH",
  "TIDEMARK_RESUME_STEP",
  "TIDEMARK_JOB_ID",
  "TIDEMARK_SLOT",
  "TIDEMARK_PROGRAM",
  "TIDEMARK_TOKEN_PASSED",
  "TIDEMARK_IMDS_URL",
  "TIDEMARK_REAPED",
];

/** Variables of the hub and the embedded store, which may share the environment; a test compares this list with their code. */
const OF_OTHERS = [
  "ADMIN_EMAIL ADMIN_PASSWORD ADMIN_PASSWORD_FILE ALLOW_ENDPOINTS ALLOW_HTTP_ENDPOINTS ALLOW_PRIVATE_ENDPOINTS",
  "BACKUP_EVERY BACKUP_KEEP BACKUP_TO DATA DATABASE_CONNECTIONS DATABASE_DIRECT_URL DATABASE_DIRECT_URL_FILE DATABASE_URL",
  "DATABASE_URL_FILE ENDPOINT_PORTS HANDED HOST HUB_UID KEEPER_UID JANITOR JANITOR_EVERY KEEPING_EVERY KEEP_AUDIT KEEP_DAYS",
  "KEEP_HOURS KEEP_MINUTES KEEP_RAW KEEP_TRANSFERS LOG METRICS METRICS_TOKEN METRICS_TOKEN_FILE MOVE_TO MOVE_TO_FILE NO_UI PORT",
  "PROBE_GOOD_FOR PUBLIC_URL REALLOCATE_COOLDOWN REALLOCATE_EXCLUDE REALLOCATE_PER_HOUR REALLOCATE_QUORUM",
  "REALLOCATE_QUORUM_LEAST ROTATE_CREDENTIALS SALAD_API_URL SALAD_AUDIENCE SALAD_FLEET SALAD_ISSUER SALAD_JWKS SALAD_JWKS_URL",
  "SALAD_ORGANIZATIONS SALAD_PROFILE SALAD_RUNS SALAD_WORKLOADS SECRET SECRET_FILE SECRET_PREVIOUS SECRET_PREVIOUS_FILE",
  "STORE_ACCESS_KEY STORE_SECRET_KEY TRUST_PROXY",
  // Variables that tests read.
  "CHROMIUM PLAIN_ROOT",
].flatMap((line) => line.split(" ").map((name) => `TIDEMARK_${name}`));

/** Kubernetes sets variables with the addresses of services in every container, also for a service named `tidemark`. */
const OF_KUBERNETES = /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)?)$/;

const TWINS = flagEntries
  .filter(([, { onlyFlag }]) => onlyFlag !== true)
  .flatMap(([name, { kind }]) => (kind === "secret" ? [envName(name), `${envName(name)}_FILE`] : [envName(name)]));
const KNOWN = new Set([...TWINS, ...OURS, ...OF_OTHERS]);

/** Returns the unknown variables sorted by name; `meant` is the known variable most like it, or null. */
export function unknownVariables(env: Environment): { name: string; meant: string | null }[] {
  const isUnknown = (name: string): boolean =>
    name.startsWith("TIDEMARK_") && !KNOWN.has(name) && !OF_KUBERNETES.test(name);
  return Object.keys(env)
    .toSorted()
    .flatMap((name) => {
      const plain = plainNameOf(name);
      // A line of an env file that became a name: `export TIDEMARK_TO`, or one behind a byte order mark.
      if (plain !== null && /^(?:TIDEMARK|AWS)_/.test(plain)) return [{ name: shownName(name), meant: plain }];
      return isUnknown(name) ? [{ name, meant: meantBy(name) }] : [];
    });
}

/** Returns the name in quotes, which shows its spaces, with escapes for what nobody sees. */
const shownName = (name: string): string => `"${visibleText(name)}"`;

/** Returns one warning about all unknown variables; null when there are none. */
export function unknownVariablesWarning(env: Environment): string | null {
  const unknown = unknownVariables(env).map(({ name, meant }) =>
    meant === null ? name : `${name} (did you mean ${meant}?)`,
  );
  if (unknown.length === 0) return null;
  return `Nothing reads ${unknown.join(", ")}.`;
}

/** Returns the known variable most like a name. The common prefix is left out, or every name would be close. */
function meantBy(name: string): string | null {
  const start = "TIDEMARK_".length;
  const near = closest(
    name.slice(start),
    [...TWINS, ...OURS].map((known) => known.slice(start)),
  );
  return near === null ? null : `TIDEMARK_${near}`;
}
