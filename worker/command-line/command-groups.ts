/** Commands that share flags: for the tables of flags, which are several files. */

/** They speak to the store with keys of their own. */
export const STORE = ["cp", "sync", "check", "ls", "cat", "inspect", "rm", "presign"] as const;
export const KEYED = [...STORE, "probe", "bench", "doctor"] as const;
/** They keep checkpoints safe. */
export const WORKING = ["agent", "run"] as const;
