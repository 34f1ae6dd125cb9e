import { access, constants, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Fault } from "#protocol/fault.ts";

/**
 * Where this machine keeps queue, journals and credential: the folder that was named, else /var/lib/tidemark, else
 * ~/.tidemark. Only its owner may read it.
 * @throws Fault FOLDER_UNWRITABLE
 */
export async function stateFolder(wished: string | null, home: string | null): Promise<string> {
  const choices =
    wished !== null ? [resolve(wished)] : ["/var/lib/tidemark", ...(home === null ? [] : [join(home, ".tidemark")])];
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
