import { OWN_FOLDERS, ownFolderOf, type OwnFolder } from "#protocol/checkpoint/keys.ts";

const IN_EPOCHS = /\/e\d{6}(\/|\.json$)/;
/** Forms of the keys that Tidemark writes. Names of the last two folders are unique to Tidemark, so any key in them counts. */
const SHAPES: Readonly<Record<OwnFolder, RegExp>> = {
  [OWN_FOLDERS.data]: IN_EPOCHS,
  [OWN_FOLDERS.manifests]: IN_EPOCHS,
  [OWN_FOLDERS.claims]: IN_EPOCHS,
  [OWN_FOLDERS.keeping]: /keeping\/[^/]+\/[^/]+\/[^/]+-[a-z]+\.json$/,
  [OWN_FOLDERS.own]: /./,
  [OWN_FOLDERS.checks]: /./,
};

/** Returns whether Tidemark wrote a key under this prefix. Its form decides: others may name a folder `runs/` too. */
export function isOwnKey(prefix: string, key: string): boolean {
  const at = ownFolderOf([prefix], key);
  return at !== null && SHAPES[at.folder].test(key);
}
