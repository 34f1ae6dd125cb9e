import { Fault } from "#protocol/faults/fault.ts";
import type { CredentialDraft } from "#protocol/wire/requests.ts";
import type { Keeper } from "#server/signer/messages.ts";
import { newId } from "#server/platform/random-id.ts";
import { secretPlace } from "#server/signer/secret-place.ts";
import type { SealedKey, Imports } from "../api/ports/imports.ts";

/**
 * Keys of pasted texts between their reading and the profile they become. Each is sealed at once for the id that its
 * profile will have, so the hub holds none of them readable; nothing gives one out, only the person who pasted it may name
 * it, and after a quarter of an hour it is gone.
 */

const HELD_MS = 15 * 60_000;
const MOST_HELD = 32;

interface Held {
  personId: string;
  expiresAt: number;
  keys: (SealedKey | null)[];
}

export function createImports(keeper: Keeper, now: () => number): Imports {
  const all = new Map<string, Held>();
  const dropOld = (): void => {
    for (const [handle, { expiresAt }] of all) if (expiresAt <= now()) all.delete(handle);
    // The oldest first: a map keeps the order things came in.
    for (const handle of all.keys()) if (all.size >= MOST_HELD) all.delete(handle);
  };
  return {
    hold: async (personId, credentials) => {
      const keys: (SealedKey | null)[] = [];
      for (const credential of credentials) keys.push(credential === null ? null : await sealKey(keeper, credential));
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

/** Seals a key for a row that is still to be made. */
export async function sealKey(keeper: Keeper, credential: CredentialDraft): Promise<SealedKey> {
  const rowId = newId();
  const sealed = await keeper.seal({ place: secretPlace(rowId), credential });
  return { rowId, ...sealed, accessKeyHint: credential.accessKeyId.slice(-4) };
}
