import { Fault, isFault } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import type { StoreAccess } from "#storage/signing/signing.ts";
import type { Credential } from "#storage/signing/sigv4.ts";
import type { Config } from "#worker/command-line/config.ts";
import { readHubAddress } from "#worker/hub-link/hub-address.ts";
import { openKeys } from "#worker/keys/open-keys.ts";
import { readAccess } from "#worker/store-session/store-session.ts";
import { readWatches } from "#worker/capture/watch.ts";
import { EXIT, onePlace, type StorePlace, type CommandContext } from "#worker/command-line/command-context.ts";
import { KOFFI, loadNative } from "#worker/base/load-native.ts";
import { checkClock } from "./check-clock.ts";
import { checkHub } from "./check-hub.ts";
import { checkDisks, checkLock, checkOpenFiles, checkState, judgeNative } from "./check-machine.ts";
import { checkPermissions } from "./check-permissions.ts";
import { checkWatch } from "./check-watch.ts";
import { checkWay } from "./check-way.ts";
import { doubtful, failed, fine, showFinding, skipped, type Finding } from "./finding.ts";

/**
 * Implements `tidemark doctor`: checks everything that a transfer needs, one line per check, and tells how to fix each
 * problem. Without a bucket or a hub it lists the checks that it could not make. Ends with 0 when no check failed, else
 * with the exit code of the first failure. Faults: BAD_INPUT for operands that cannot be read.
 */
export async function examine(context: CommandContext): Promise<number> {
  const place = context.operands.length === 0 ? null : onePlace(context, "doctor");
  const found: Finding[] = [];
  const tell = (findings: readonly Finding[]) => {
    found.push(...findings);
    for (const finding of findings) showFinding(context.terminal, finding);
  };
  const { config, home, signal } = context;
  const { folder, findings } = await checkState(config.text("state"), home);
  tell(findings);
  if (folder !== null) tell([await checkLock(folder)]);
  tell([await checkOpenFiles(), judgeNative(loadNative(KOFFI) !== null), judgeVariables(config)]);
  const watches = { folders: config.list("watch"), runs: [], patterns: config.list("pattern") };
  for (const watch of readWatches(watches)) {
    tell(await checkWatch(watch));
    if (folder !== null) tell(await checkDisks(folder, watch.folder));
  }
  const hasClock = await examineStore(context, { place, tell });
  const base = await examineHub(config, { state: folder, signal, tell });
  if (!hasClock && base !== null) tell([await checkClock("hub", { address: base, signal })]);
  else if (!hasClock) tell([skipped("clock", { says: "there was no other clock to compare with", fix: NO_CLOCK })]);
  return conclude(context, found);
}

/** Reports misspelled variables, which a person believes to be in effect. Pure. */
function judgeVariables({ unread }: Config): Finding {
  if (unread === null) return fine("settings", "every variable that begins with TIDEMARK_ is one that is read");
  const fix = "Write them as `tidemark config` lists them, or take them out.";
  return doubtful("settings", { says: unread.replace(/\.$/, ""), fix });
}

const NO_CLOCK = "Name a hub or a bucket that answers: --hub URL, or s3://bucket/prefix.";

type Tell = (findings: readonly Finding[]) => void;

/** Checks the store. Returns whether its clock was checked. */
async function examineStore(
  context: CommandContext,
  about: { place: StorePlace | null; tell: Tell },
): Promise<boolean> {
  const { config, signal } = context;
  const { place, tell } = about;
  if (place === null && !isStoreNamed(config)) {
    const fix =
      "Name a bucket, with keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: tidemark doctor s3://bucket/prefix";
    tell([skipped("store", { says: "no bucket was named", fix })]);
    return false;
  }
  const access = attempt(() => readAccess(config, place?.bucket ?? ""));
  if (access instanceof Fault) {
    tell([failed("store", access.toData())]);
    return false;
  }
  const address = access.endpoint;
  const way = await checkWay({ what: "store", address }, signal);
  tell(way);
  if (way.some(({ outcome }) => outcome === "failed")) return false;
  tell([await checkClock("store", { address, signal })]);
  tell(await examineRights(config, { access, place }));
  return true;
}

async function examineRights(
  config: Config,
  about: { access: StoreAccess; place: StorePlace | null },
): Promise<Finding[]> {
  const { access, place } = about;
  if (place === null) {
    const fix = "Name a bucket, and a prefix under which it may write: tidemark doctor s3://bucket/prefix";
    return [skipped("permissions", { says: "no bucket was named", fix })];
  }
  const credential = await askKeys(config);
  if (credential instanceof Fault) return [failed("keys", credential.toData())];
  const prefix = place.key === "" || place.key.endsWith("/") ? place.key : `${place.key}/`;
  return [judgeKeys(config, credential), ...(await checkPermissions({ access, credential, prefix }))];
}

async function askKeys(config: Config): Promise<Credential | Fault> {
  try {
    return await openKeys(config).fresh();
  } catch (error) {
    if (isFault(error)) return error;
    throw error;
  }
}

/** Describes where the key comes from and when it expires. */
function judgeKeys(config: Config, { endsAt }: Credential): Finding {
  const written = config.settings.find(({ name }) => name === "access-key-id")?.source ?? "the settings";
  const from = config.keysFrom?.says ?? written;
  const until =
    endsAt === undefined ? "" : `, until ${new Date(endsAt).toISOString()}; the next one is asked for ahead of that`;
  return fine("keys", `the key is from ${from}${until}`);
}

/** Reads a setting. Returns the Fault of an invalid one, which then becomes the finding. */
function attempt<T>(read: () => T): T | Fault {
  try {
    return read();
  } catch (error) {
    if (isFault(error)) return error;
    throw error;
  }
}

/** Returns whether the settings name a store. Keys alone do not: many machines have them for other purposes. */
const isStoreNamed = (config: Config): boolean =>
  config.text("endpoint") !== null ||
  config.text("provider") !== "auto" ||
  (config.text("access-key-id") !== null && config.text("hub") === null);

/** Checks the hub. Returns its address when it answered, else null. */
async function examineHub(
  config: Config,
  about: { state: string | null; signal: AbortSignal; tell: Tell },
): Promise<string | null> {
  const { state, signal, tell } = about;
  const given = config.text("hub");
  if (given === null) {
    tell([
      skipped("hub", {
        says: "no hub was named",
        fix: "Name it: --hub URL, or TIDEMARK_HUB. One node and a bucket need none.",
      }),
    ]);
    return null;
  }
  const allowHttp = config.isOn("allow-http") ? "yes" : "loopback-only";
  const base = attempt(() => readHubAddress(given, { allowHttp }));
  if (base instanceof Fault) {
    tell([failed("hub", base.toData())]);
    return null;
  }
  const way = await checkWay({ what: "hub", address: base }, signal);
  tell(way);
  if (way.some(({ outcome }) => outcome === "failed")) return null;
  tell(await checkHub({ base, token: config.text("token"), state }, signal));
  return base;
}

function conclude({ terminal }: CommandContext, found: readonly Finding[]): number {
  const count = (wanted: Finding["outcome"]) => found.filter(({ outcome }) => outcome === wanted).length;
  const [ok, warnings, failures, notChecked] = [count("ok"), count("warn"), count("failed"), count("skipped")];
  const text = `${ok} ok, ${warnings} to look at, ${failures} failed, ${notChecked} not checked.`;
  terminal.say(text, { type: "examined", ok, warnings, failed: failures, skipped: notChecked });
  const first = found.find(({ outcome }) => outcome === "failed");
  if (first === undefined) return EXIT.ok;
  return first.fault === null ? EXIT.failed : FAULTS[first.fault.code].exit;
}
