/** What transfers are called, apart from how that is read at a border: pages need the names and not the reading. */

export const TRANSFER_STATES = ["waiting", "running", "paused", "done", "failed", "cancelled", "superseded"] as const;

/**
 * `upload` and `download` move a checkpoint; `copy` uploads one that is safe to another home of its run. `verify` reads one
 * back and keeps nothing, `drill` restores one into a scratch folder and removes it: they leave other work its turn, so
 * their pace says nothing about a link.
 */
export const TRANSFER_DIRECTIONS = ["upload", "download", "verify", "drill", "copy"] as const;
