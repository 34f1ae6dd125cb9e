import type { ImportedKey } from "#protocol/wire/profiles.ts";
import type { CredentialDraft } from "#protocol/wire/requests.ts";

/** A key that only the keeper can read, and the row it is sealed for. */
export interface SealedKey {
  rowId: string;
  sealed: string;
  /** Of the master key it is sealed with. */
  keyVersion: number;
  accessKeyHint: string;
}

/** Keeps the keys of pasted texts, sealed, until they become profiles. */
export interface Imports {
  /** Keeps the keys (null: none was found) for this person. */
  hold(personId: string, keys: readonly (CredentialDraft | null)[]): Promise<{ handle: string; expiresAt: number }>;
  /** @throws Fault NOT_FOUND when it is over, used, another person's, or never was */
  find(personId: string, key: ImportedKey): SealedKey;
  /** After a profile was made of it: its id is taken. */
  spend(key: ImportedKey): void;
}
