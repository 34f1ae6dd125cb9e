import { stepText } from "#protocol/checkpoint/step-words.ts";
import { readFile, stat } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { NodeSealing } from "#protocol/checkpoint/sealing.ts";
import { fingerprintOf, unwrapCheckpointKey } from "#storage/encryption/checkpoint-key.ts";
import { makeKeyPair, publicKeyOf } from "#storage/encryption/hpke.ts";
import type { SealedManifest } from "#storage/encryption/open-manifest.ts";
import { EXPORT_FORM, readExport, writeExport } from "#storage/encryption/seal-key-text.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";
import { usage } from "../command-line/command-context.ts";
import { writeNewFile } from "../host/state-file.ts";

/**
 * The key file of a node without a hub. It holds the wrapping key of a bucket in the hub's export format, so that a hub
 * can import it later. The first line encrypts new checkpoints; further lines are earlier keys, which only decrypt.
 */
export interface KeyFile {
  path: string;
  /** Encrypts new checkpoints. */
  publicKey: Omit<NodeSealing, "hideNames">;
  /** Private keys by their ids. */
  keys: ReadonlyMap<string, Buffer>;
}

/** Room for more than 100 keys. */
const MOST_BYTES = 16 * 1024;
/** Permission bits of group and others. */
const RIGHTS_OF_OTHERS = 0o077;

const refuse = (path: string, detail: string): Fault => usage(`--encrypt-key ${path}`, detail);

/** Reads a key file. @throws Fault BAD_INPUT (missing, readable by others, or without a key), READ_FAILED */
export async function readKeyFile(path: string): Promise<KeyFile> {
  assertNoKey(path);
  try {
    const found = await stat(path);
    if (!found.isFile() || found.size > MOST_BYTES) throw refuse(path, "it is no key file");
    if ((found.mode & RIGHTS_OF_OTHERS) !== 0) {
      const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
      const detail = `others than its owner may read or write it (mode ${mode}): chmod 600 it; a mounted secret of Kubernetes needs defaultMode: 0400`;
      throw refuse(path, detail);
    }
    return parseKeyFile(path, await readFile(path, "utf8"));
  } catch (error) {
    if (isFault(error)) throw error;
    if (codeOf(error) === "ENOENT") throw refuse(path, `there is no such file; make one: tidemark keygen ${path}`);
    throw diskFault(error, { op: "read", subject: path, otherwise: "READ_FAILED" });
  }
}

/** Refuses a key given in place of its file's path, without printing it. @throws Fault BAD_INPUT */
export function assertNoKey(path: string): void {
  if (path.includes(EXPORT_FORM))
    throw usage("--encrypt-key", "it takes the path of a file with the key, and not the key itself");
}

function parseKeyFile(path: string, text: string): KeyFile {
  const keys = new Map<string, Buffer>();
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    try {
      const { keyId, privateKey } = readExport(line);
      keys.set(keyId, privateKey);
    } catch (error) {
      if (!isFault(error)) throw error;
      throw refuse(path, `line ${index + 1}: ${error.context.detail ?? "it is no key"}`);
    }
  }
  const [first] = keys;
  if (first === undefined) throw refuse(path, `no key is in it; make one in a new file: tidemark keygen FILE`);
  const [keyId, privateKey] = first;
  return { path, publicKey: { keyId, publicKey: publicKeyOf(privateKey).toString("base64url") }, keys };
}

interface MadeKey {
  keyId: string;
  fingerprint: string;
}

/**
 * Creates a key in a new file that only its owner can read. @throws Fault BAD_INPUT when the file exists, NO_SPACE,
 * WRITE_FAILED
 */
export async function makeKeyFile(path: string): Promise<MadeKey> {
  const { privateKey, publicKey } = makeKeyPair();
  const keyId = randomUUID();
  try {
    await writeNewFile(path, `${writeExport(keyId, privateKey)}\n`);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw usage(path, "it is there already; a key is never overwritten");
    throw diskFault(error, { op: "write", subject: path, otherwise: "WRITE_FAILED" });
  }
  return { keyId, fingerprint: fingerprintOf(publicKey.toString("base64url")) };
}

/** Returns whether a checkpoint can be decrypted. */
export const holdsKeyOf = (file: KeyFile | null, { transform }: Pick<SealedManifest, "transform">): boolean =>
  file?.keys.has(transform.keyId) === true;

/** Returns the Fault SEAL_KEY_NEEDED: the file has other keys, or there is no file. */
export function keyNeeded(file: KeyFile | null, { run, step, transform }: SealedManifest): Fault {
  const which = `it needs the key ${transform.keyId}`;
  const detail = file === null ? which : `${which}, which is not in ${file.path}`;
  return new Fault("SEAL_KEY_NEEDED", { op: "unlock", subject: `${stepText(step)} of ${run}`, detail });
}

/** Returns the key of a checkpoint. @throws Fault SEAL_KEY_NEEDED, SEAL_BROKEN */
export function keyOfCheckpoint(file: KeyFile | null, read: SealedManifest): Buffer {
  const { id, run, step, transform } = read;
  const { keyId, wrapped } = transform;
  const privateKey = file?.keys.get(keyId);
  if (privateKey === undefined) throw keyNeeded(file, read);
  return unwrapCheckpointKey(privateKey, wrapped, { keyId, id, run, step });
}
