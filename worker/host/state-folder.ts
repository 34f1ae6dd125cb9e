import { access, chmod, constants, mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Fault, isFault } from "#protocol/faults/fault.ts";

const OTHERS_WRITE = 0o022;
const ANYBODY_WRITES = 0o002;

/**
 * Where this machine keeps queue, journals and credential: the folder that was named, else /var/lib/tidemark, else
 * ~/.tidemark, else the first of `orElse` (a user without a home) that can be had. Only its owner may read it.
 * @throws Fault FOLDER_UNWRITABLE, FOLDER_NOT_OWN
 */
export async function stateFolder(
  wished: string | null,
  home: string | null,
  orElse: readonly string[] = [],
): Promise<string> {
  const choices = [...stateChoices(wished, home), ...(wished === null ? orElse : [])];
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

/** For a command that needs no more than its journal: a folder of this user for temporary files. */
export const temporaryState = (temporary: string): string => join(temporary, `tidemark-${process.getuid?.() ?? 0}`);

/** For a worker: beside the folders that it watches, on the disk that checkpoints are written to. */
export const statesBeside = (watched: readonly string[]): string[] => [
  ...new Set(watched.map((folder) => join(dirname(resolve(folder)), ".tidemark-state"))),
];

/** Says once, on a line of its own, that the state is where nobody asked for it. Returns null where it is where it belongs. */
export function unusualState(folder: string, about: { wished: string | null; home: string | null }): string | null {
  if (stateChoices(about.wished, about.home).includes(folder)) return null;
  const usual = stateChoices(null, about.home).join(" and ");
  return `Keeping what this worker has to remember in ${folder}: ${usual} cannot be written. Other commands find it with --state ${folder}.`;
}

/**
 * Whoever else can write there can plant links and read what is kept. The rights of others are taken away where the folder is
 * ours: at once where nothing is in it yet (a volume that was just made), and those of its group in any case.
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

/** The one that would be taken, when it is there already; makes nothing. */
export async function findStateFolder(wished: string | null, home: string | null): Promise<string | null> {
  for (const choice of stateChoices(wished, home)) {
    if (await isUsable(choice)) return choice;
    // It would be made, and nothing is in it yet.
    if ((await isMissing(choice)) && (await isUsable(dirname(choice)))) return null;
  }
  return null;
}

/** Where it may be, the one that is wanted most first. */
export const stateChoices = (wished: string | null, home: string | null): readonly string[] =>
  wished !== null ? [resolve(wished)] : ["/var/lib/tidemark", ...(home === null ? [] : [join(home, ".tidemark")])];

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
