import { access, chmod, constants, mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Fault, isFault } from "#protocol/faults/fault.ts";

const OTHERS_WRITE = 0o022;
const ANYBODY_WRITES = 0o002;

/**
 * Returns the folder for queue, journals and credential, and creates it: the folder that was named, else the first usable
 * one of /var/lib/tidemark, ~/.tidemark and `orElse` (for a user without a home). Only its owner may read it.
 * @throws Fault FOLDER_UNWRITABLE, FOLDER_NOT_OWN
 */
export async function stateFolder(
  requested: string | null,
  home: string | null,
  orElse: readonly string[] = [],
): Promise<string> {
  const choices = [...stateChoices(requested, home), ...(requested === null ? orElse : [])];
  let reason: unknown = null;
  for (const choice of choices) {
    try {
      await mkdir(choice, { recursive: true, mode: 0o700 });
      await access(choice, constants.W_OK | constants.X_OK);
      await assertOwn(choice);
      return choice;
    } catch (error) {
      reason = error;
    }
  }
  if (isFault(reason)) throw reason;
  const detail = "name a folder that this user may write with --state DIR or TIDEMARK_STATE";
  throw new Fault("FOLDER_UNWRITABLE", { op: "start", subject: choices.join(", "), detail, cause: reason });
}

/** Returns a state folder below the temporary folder, per user, for commands that only need a journal. */
export const temporaryState = (temporary: string): string => join(temporary, `tidemark-${process.getuid?.() ?? 0}`);

/** Returns state folders for a worker beside its watched folders, on the disk that checkpoints are written to. */
export const statesBeside = (watched: readonly string[]): string[] => [
  ...new Set(watched.map((folder) => join(dirname(resolve(folder)), ".tidemark-state"))),
];

/** Returns a sentence that names a state folder which is neither given nor a default; null otherwise. */
export function unusualState(folder: string, about: { requested: string | null; home: string | null }): string | null {
  if (stateChoices(about.requested, about.home).includes(folder)) return null;
  const usual = stateChoices(null, about.home).join(" and ");
  return `Keeping what this worker has to remember in ${folder}: ${usual} cannot be written. Other commands find it with --state ${folder}.`;
}

/**
 * Ensures that no other user can write to the folder, who could otherwise plant links and read its files. Write permission
 * of the group is removed; that of all users only while the folder is empty (a new volume), otherwise the folder is refused.
 * @throws Fault FOLDER_NOT_OWN
 */
async function assertOwn(folder: string): Promise<void> {
  const uid = process.getuid?.();
  if (uid === undefined) return;
  const found = await stat(folder);
  const refuse = (detail: string) => new Fault("FOLDER_NOT_OWN", { op: "start", subject: folder, detail });
  if (found.uid !== uid) throw refuse(`user ${found.uid} owns it, this is user ${uid}`);
  if ((found.mode & OTHERS_WRITE) === 0) return;
  if ((found.mode & ANYBODY_WRITES) !== 0 && (await readdir(folder)).length > 0)
    throw refuse(`its rights are ${(found.mode & 0o7777).toString(8)}`);
  await chmod(folder, found.mode & 0o7777 & ~OTHERS_WRITE & ~0o1000);
}

/** Returns the folder that `stateFolder` would choose, if it exists; creates nothing. */
export async function findStateFolder(requested: string | null, home: string | null): Promise<string | null> {
  for (const choice of stateChoices(requested, home)) {
    if (await isUsable(choice)) return choice;
    // `stateFolder` would create this one, so no state exists yet.
    if ((await isMissing(choice)) && (await isUsable(dirname(choice)))) return null;
  }
  return null;
}

/** Returns the candidates for the state folder, in order of preference. */
export const stateChoices = (requested: string | null, home: string | null): readonly string[] =>
  requested !== null
    ? [resolve(requested)]
    : ["/var/lib/tidemark", ...(home === null ? [] : [join(home, ".tidemark")])];

const isUsable = (folder: string): Promise<boolean> =>
  access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );

const isMissing = (folder: string): Promise<boolean> =>
  access(folder).then(
    () => false,
    () => true,
  );
