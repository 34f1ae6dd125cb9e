import { access, constants, mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Fault } from "#protocol/fault.ts";

/**
 * Where this machine keeps queue, journals and credential: the folder that was named, else /var/lib/tidemark, else
 * ~/.tidemark. Only its owner may read it.
 * @throws Fault FOLDER_UNWRITABLE
 */
export async function stateFolder(wished: string | null, home: string | null): Promise<string> {
  const choices = stateChoices(wished, home);
  let reason: unknown = null;
  for (const choice of choices) {
    try {
      await mkdir(choice, { recursive: true, mode: 0o700 });
      await access(choice, constants.W_OK | constants.X_OK);
      return choice;
    } catch (error) {
      reason = error;
    }
  }
  throw new Fault("FOLDER_UNWRITABLE", { op: "start", subject: choices.at(-1) ?? "", cause: reason });
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
