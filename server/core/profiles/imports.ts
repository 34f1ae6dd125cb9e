import { Fault } from "#protocol/faults/fault.ts";
import type { CredentialDraft } from "#protocol/wire/requests.ts";
import type { Signer } from "#server/signer/messages.ts";
import { newId } from "#server/platform/random-id.ts";
import { secretPlace } from "#server/signer/secret-place.ts";
import type { SealedKey, Imports } from "../api/ports/imports.ts";

/**
 * Holds keys of pasted texts until they become profiles. Each is sealed at once for the id that its profile will have, so the
 * hub holds no readable key. Nothing returns a key; only the person who pasted it may refer to it, for a quarter of an hour.
 */

const HELD_MS = 15 * 60_000;
const MOST_HELD = 32;

interface Held {
  personId: string;
  expiresAt: number;
  keys: (SealedKey | null)[];
}

export function createImports(signer: Signer, now: () => number): Imports {
  const all = new Map<string, Held>();
  const dropOld = (): void => {
    for (const [handle, { expiresAt }] of all) if (expiresAt <= now()) all.delete(handle);
    // A map iterates in insertion order, so this removes the oldest.
    for (const handle of all.keys()) if (all.size >= MOST_HELD) all.delete(handle);
  };
  return {
    hold: async (personId, credentials) => {
      const keys: (SealedKey | null)[] = [];
      for (const credential of credentials) keys.push(credential === null ? null : await sealKey(signer, credential));
      dropOld();
      const handle = newId();
      const expiresAt = now() + HELD_MS;
      all.set(handle, { personId, expiresAt, keys });
      return { handle, expiresAt };
    },
    find: (personId, { handle, index }) => {
      const held = all.get(handle);
      const key = held?.keys[index] ?? null;
      if (held === undefined || key === null || held.personId !== personId || held.expiresAt <= now()) {
        const detail = "the pasted text is no longer kept; paste it again";
        throw new Fault("NOT_FOUND", { subject: "the key of the pasted text", detail });
      }
      return key;
    },
    spend: ({ handle, index }) => {
      const held = all.get(handle);
      if (held !== undefined) all.set(handle, { ...held, keys: held.keys.with(index, null) });
    },
  };
}

/** Seals a key for a row that does not exist yet. */
export async function sealKey(signer: Signer, credential: CredentialDraft): Promise<SealedKey> {
  const rowId = newId();
  const sealed = await signer.seal({ place: secretPlace(rowId), credential });
  return { rowId, ...sealed, accessKeyHint: credential.accessKeyId.slice(-4) };
}
