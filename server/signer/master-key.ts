import { randomBytes } from "node:crypto";
import { access, chmod, link, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";

/** Source of the master key's text: given directly, or the key file in the data folder. */
export interface MasterKeySource {
  /** TIDEMARK_SECRET, or the content of TIDEMARK_SECRET_FILE; null when neither is set. */
  secret: string | null;
  /** TIDEMARK_SECRET_PREVIOUS, or the content of the file it may name: the key that is being replaced. */
  previous?: string | null;
  dataFolder: string;
}

const KEY_FILE = "master.key";
/** Name of the key file while it is being replaced. */
const PREVIOUS_FILE = "master.key.previous";

/** Returns the text of the master key, or null when there is none yet. @throws Fault READ_FAILED */
export const readMasterSecret = async (source: MasterKeySource): Promise<string | null> =>
  source.secret ?? readKeyFile(join(source.dataFolder, KEY_FILE));

/** Returns the text of the master key that is being replaced, or null. @throws Fault READ_FAILED */
export const readPreviousSecret = async (source: MasterKeySource): Promise<string | null> =>
  source.previous ?? readKeyFile(join(source.dataFolder, PREVIOUS_FILE));

async function readKeyFile(path: string): Promise<string | null> {
  try {
    const text = await readFile(path, "utf8");
    await chmod(path, 0o600);
    return text.trim();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw new Fault("READ_FAILED", { op: "read the master key", subject: path, cause: error });
  }
}

/** Error codes of a disk without hard links. */
const NO_LINKS: ReadonlySet<unknown> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/**
 * Creates a key file, readable by its owner only, whole or not at all: a part of a key would look like a weak one at the next
 * start. Never overwrites one: nothing else opens what the old key sealed.
 * @throws Fault FOLDER_UNWRITABLE
 */
export async function createMasterSecret(dataFolder: string): Promise<string> {
  const secret = randomBytes(32).toString("base64");
  const path = join(dataFolder, KEY_FILE);
  const fresh = `${path}.new`;
  try {
    // Left by a killed process; the lock of the folder keeps others out.
    await rm(fresh, { force: true });
    const file = await open(fresh, "wx", 0o600);
    try {
      await file.writeFile(`${secret}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(fresh, path).catch(async (error: unknown) => {
      if (!(error instanceof Error && "code" in error && NO_LINKS.has(error.code))) throw error;
      // Takes the name, which fails where a key is there, and then the place.
      await (await open(path, "wx", 0o600)).close();
      await rename(fresh, path);
    });
    await rm(fresh, { force: true });
    const folder = await open(dataFolder, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
    return secret;
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => undefined);
    throw new Fault("FOLDER_UNWRITABLE", { op: "create the master key", subject: path, cause: error });
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * Renames the key file to the previous one, so that the next opening creates a new key and seals everything with it. Does
 * nothing if an earlier, interrupted call renamed it already.
 * @throws Fault MASTER_KEY_MISSING
 */
export async function setKeyFileAside(dataFolder: string): Promise<void> {
  const [path, aside] = [join(dataFolder, KEY_FILE), join(dataFolder, PREVIOUS_FILE)];
  if (await isThere(aside)) return;
  if (!(await isThere(path))) throw new Fault("MASTER_KEY_MISSING", { subject: path });
  await rename(path, aside);
}

/** Deletes the key file that was replaced: nothing is sealed with it any more. */
export const forgetPreviousKeyFile = (dataFolder: string): Promise<void> =>
  rm(join(dataFolder, PREVIOUS_FILE), { force: true });
