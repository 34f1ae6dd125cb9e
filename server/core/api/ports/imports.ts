import type { ImportedKey } from "#protocol/wire/profiles.ts";
import type { CredentialDraft } from "#protocol/wire/requests.ts";

/** A key that only the signing process can unseal, and the row it is sealed for. */
export interface SealedKey {
  rowId: string;
  sealed: string;
  /** Version of the master key it is sealed with. */
  keyVersion: number;
  accessKeyHint: string;
}

/** Keeps the keys of pasted texts, sealed, until they become profiles. */
export interface Imports {
  /** Keeps the keys (null: none was found) for this person. */
  hold(personId: string, keys: readonly (CredentialDraft | null)[]): Promise<{ handle: string; expiresAt: number }>;
  /** Returns a sealed key. @throws Fault NOT_FOUND when it expired, was used, belongs to another person or never existed */
  find(personId: string, key: ImportedKey): SealedKey;
  /** Drops a key after a profile was created from it, because its row id is taken. */
  spend(key: ImportedKey): void;
}
