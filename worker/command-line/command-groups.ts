/** Commands that share flags: for the tables of flags, which are several files. */

/** They speak to the store with keys of their own. */
export const STORE = ["cp", "sync", "check", "ls", "cat", "inspect", "rm", "presign"] as const;
export const KEYED = [...STORE, "probe", "bench", "doctor"] as const;
/** They keep checkpoints safe. */
export const WORKING = ["agent", "run"] as const;
/** They can do that without a hub, with --to. */
export const STANDALONE = [...WORKING, "save", "restore", "status"] as const;
/** They speak to a store with keys that are given to them. */
export const WITH_KEYS = [...KEYED, ...STANDALONE, "runs"] as const;
