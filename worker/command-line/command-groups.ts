/** Groups of commands that share flags, for the several files of the table of flags. */

/** Commands that access the store with the user's keys. */
export const STORE = ["cp", "sync", "check", "ls", "cat", "inspect", "rm", "presign"] as const;
export const KEYED = [...STORE, "probe", "bench", "doctor"] as const;
/** Commands that watch folders and upload the checkpoints in them. */
export const WORKING = ["agent", "run"] as const;
/** Commands that join a hub as a node and keep checkpoints safe; `work` watches the folders of its jobs. */
export const JOINING = [...WORKING, "work"] as const;
/** Commands that work without a hub when --to is given. */
export const STANDALONE = [...WORKING, "save", "restore", "status"] as const;
/** Commands that read the bucket of --to and ask neither a hub nor a worker. */
export const READS_BUCKET = ["runs", "compare"] as const;
/** Commands that take flags for a store's address and keys. */
export const WITH_KEYS = [...KEYED, ...STANDALONE, ...READS_BUCKET] as const;
