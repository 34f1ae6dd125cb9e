import { remainsOfEnvFile } from "#protocol/base/env-remains.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { signControlRequest } from "#storage/signing/sign-control.ts";
import { presignOperation } from "#storage/signing/signing.ts";
import type { Credential } from "#storage/signing/sigv4.ts";
import { askSessionKey, askTemporaryKey } from "#storage/signing/temporary-key.ts";
import { makeKeyPair, publicKeyOf } from "#storage/encryption/hpke.ts";
import { unwrapCheckpointKey } from "#storage/encryption/checkpoint-key.ts";
import { readExport, writeExport } from "#storage/encryption/seal-key-text.ts";
import { createMasterSecret, readMasterSecret, readPreviousSecret, type MasterKeySource } from "./master-key.ts";
import { heldCredential, isSealKeyPlace, isTextPlace, type Signer } from "./messages.ts";
import { deriveMasterKey, keyVersionOf, refuseWeakSecret, seal, unseal, type MasterKey } from "./seal.ts";

export const CANARY_PLACE = "Canary|1|sealed";
const CANARY_TEXT = "tidemark canary v1";

interface Keys {
  /** Seals everything. */
  current: MasterKey;
  /** Opens what was sealed before the master key was replaced. */
  previous: MasterKey | null;
}

/** Source of the master key, and the function that derives a key from its text. */
interface KeyWays {
  source: MasterKeySource;
  derive: typeof deriveMasterKey;
}

const opens = (key: MasterKey, canary: string): boolean => {
  try {
    return unseal(key, CANARY_PLACE, canary) === CANARY_TEXT;
  } catch {
    return false;
  }
};

/** Finds the keys that open a database, by its canary. @throws Fault MASTER_KEY_MISSING, MASTER_KEY_WRONG, MASTER_KEY_WEAK */
async function findKeys({ source, derive }: KeyWays, canary: string): Promise<Keys> {
  const secret = await readMasterSecret(source);
  const previousSecret = await readPreviousSecret(source);
  if (secret === null && previousSecret === null) throw new Fault("MASTER_KEY_MISSING");
  if (secret !== null) refuseWeakSecret(secret);
  const version = keyVersionOf(canary);
  if (secret !== null) {
    const current = derive(secret, version);
    if (opens(current, canary)) return { current, previous: null };
  }
  // A weak key may be replaced, so it is not refused here.
  const previous = previousSecret === null ? null : derive(previousSecret, version);
  if (previous === null || !opens(previous, canary)) {
    const odd = oddSecret(source);
    throw new Fault("MASTER_KEY_WRONG", odd === null ? {} : { subject: odd });
  }
  // With a previous key from the environment the new one must come from there too; none is created in the data folder.
  if (secret === null && typeof source.previous === "string") throw new Fault("MASTER_KEY_MISSING");
  const next = secret ?? (await createMasterSecret(source.dataFolder));
  return { current: derive(next, version + 1), previous };
}

/** Says what TIDEMARK_SECRET still has of an env file, without its value; null where it is plain. */
function oddSecret({ secret }: MasterKeySource): string | null {
  const found = secret === null ? null : remainsOfEnvFile(secret, { name: "TIDEMARK_SECRET", kind: "key" });
  return found === null ? null : `TIDEMARK_SECRET, whose value ${found}`;
}

/** @throws Fault BAD_INPUT for a key that another start, which reads its env file in another way, would not have */
async function firstKeys({ source, derive }: KeyWays): Promise<Keys> {
  const odd = oddSecret(source);
  if (odd !== null) throw new Fault("BAD_INPUT", { subject: odd });
  const secret = (await readMasterSecret(source)) ?? (await createMasterSecret(source.dataFolder));
  refuseWeakSecret(secret);
  return { current: derive(secret, 1), previous: null };
}

/** Returns the place of a text that may be opened; a bucket key never is one. @throws Fault BAD_INPUT */
function textPlaceOf(place: string): string {
  if (isTextPlace(place)) return place;
  throw new Fault("BAD_INPUT", { op: "signer" });
}

/** Returns the id of the wrapping key at a place. @throws Fault BAD_INPUT for a place of anything else */
function sealKeyIdOf(place: string): string {
  const [, keyId] = place.split("|");
  if (isSealKeyPlace(place) && keyId !== undefined) return keyId;
  throw new Fault("BAD_INPUT", { op: "signer" });
}

export interface SignerOptions {
  /** The clock that dates signatures. */
  now?: () => number;
  /** Replaced in tests, which open many hubs with one secret, to cache its key: a derivation takes 100 ms of CPU. */
  derive?: typeof deriveMasterKey;
}

/** Creates a signer. Nothing works before `open` has checked the key. */
export function createSigner(source: MasterKeySource, options: SignerOptions = {}): Signer {
  const { now = Date.now, derive = deriveMasterKey } = options;
  let opened: Keys | null = null;
  const keys = (): Keys => {
    if (opened === null) throw new Fault("INTERNAL", { op: "signer", detail: "the master key was not checked yet" });
    return opened;
  };
  const sealAt = (place: string, text: string) => {
    const { current } = keys();
    return { sealed: seal(current, place, text), keyVersion: current.version };
  };
  const unsealAt = ({ place, sealed }: { place: string; sealed: string }): string => {
    const { current, previous } = keys();
    const isOld = previous !== null && keyVersionOf(sealed) === previous.version;
    return unseal(isOld ? previous : current, place, sealed);
  };
  const credentialAt = (input: { place: string; sealed: string }): Credential => {
    const { sessionToken, endsAt, ...key } = heldCredential.parse(JSON.parse(unsealAt(input)));
    return {
      ...key,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      ...(endsAt === undefined ? {} : { endsAt }),
    };
  };

  const sealKeyAt = (place: string, privateKey: Buffer) => ({
    publicKey: publicKeyOf(privateKey).toString("base64url"),
    ...sealAt(place, privateKey.toString("base64url")),
  });
  const privateKeyAt = (input: { place: string; sealed: string }): Buffer => Buffer.from(unsealAt(input), "base64url");
  return {
    open: async ({ canary }) => {
      opened = canary === null ? await firstKeys({ source, derive }) : await findKeys({ source, derive }, canary);
      const keyVersion = opened.current.version;
      if (canary === null) return { ...sealAt(CANARY_PLACE, CANARY_TEXT), isRewrapDue: false };
      return { sealed: canary, keyVersion, isRewrapDue: opened.previous !== null };
    },
    seal: async ({ place, credential }) => sealAt(place, JSON.stringify(credential)),
    rewrap: async (input) => {
      const keyVersion = keys().current.version;
      const text = unsealAt(input);
      return keyVersionOf(input.sealed) === keyVersion
        ? { sealed: input.sealed, keyVersion }
        : sealAt(input.place, text);
    },
    sealText: async ({ place, text }) => sealAt(textPlaceOf(place), text),
    openText: async ({ place, sealed }) => ({ text: unsealAt({ place: textPlaceOf(place), sealed }) }),
    sign: async (input) => {
      const { access, lifetimeMs } = input;
      const credential = credentialAt(input);
      const nowMs = now();
      return {
        requests: input.operations.map((operation) =>
          presignOperation({ access, credential, operation, nowMs, lifetimeMs }),
        ),
      };
    },
    signRequest: async (input) => {
      const scope = { credential: credentialAt(input), region: input.region, nowMs: now() };
      return { headers: signControlRequest(input.request, scope).headers };
    },
    askTemporary: async (input) => {
      const scope = { credential: credentialAt(input), nowMs: now() };
      return askTemporaryKey(input.ask, scope);
    },
    askSession: async (input) => askSessionKey(input.ask, { credential: credentialAt(input), nowMs: now() }),
    makeSealKey: async ({ place }) => {
      sealKeyIdOf(place);
      return sealKeyAt(place, makeKeyPair().privateKey);
    },
    importSealKey: async ({ place, text }) => {
      const { keyId, privateKey } = readExport(text);
      if (keyId !== sealKeyIdOf(place)) throw new Fault("BAD_INPUT", { op: "signer" });
      return sealKeyAt(place, privateKey);
    },
    exportSealKey: async (input) => ({ text: writeExport(sealKeyIdOf(input.place), privateKeyAt(input)) }),
    unwrap: async ({ wrapped, at, ...input }) => {
      if (at.keyId !== sealKeyIdOf(input.place)) throw new Fault("BAD_INPUT", { op: "signer" });
      return { key: unwrapCheckpointKey(privateKeyAt(input), wrapped, at).toString("base64url") };
    },
  };
}
