import { OWN_FOLDERS, ownFolderOf, type OwnFolder } from "#protocol/checkpoint/keys.ts";

const IN_EPOCHS = /\/e\d{6}(\/|\.json$)/;
/** How the keys look that Tidemark writes there. Nobody else calls a folder as those are called that say nothing. */
const SHAPES: Readonly<Record<OwnFolder, RegExp>> = {
  [OWN_FOLDERS.data]: IN_EPOCHS,
  [OWN_FOLDERS.manifests]: IN_EPOCHS,
  [OWN_FOLDERS.claims]: IN_EPOCHS,
  [OWN_FOLDERS.keeping]: /keeping\/[^/]+\/[^/]+\/[^/]+-[a-z]+\.json$/,
  [OWN_FOLDERS.own]: /./,
  [OWN_FOLDERS.checks]: /./,
};

/** Whether a key is one that Tidemark wrote under this prefix. Somebody else's folder may be called `runs/` too. */
export function isOwnKey(prefix: string, key: string): boolean {
  const at = ownFolderOf([prefix], key);
  return at !== null && SHAPES[at.folder].test(key);
}
