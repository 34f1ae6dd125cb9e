/** Names of transfer states and directions, without schemas, so that pages can load them. */

export const TRANSFER_STATES = ["waiting", "running", "paused", "done", "failed", "cancelled", "superseded"] as const;

/**
 * `upload` and `download` move a checkpoint; `copy` uploads a safe one to another home of its run. `verify` reads a
 * checkpoint back and keeps nothing; `drill` restores one into a scratch folder and removes it. `verify` and `drill` yield
 * to other work, so their rate says nothing about a link.
 */
export const TRANSFER_DIRECTIONS = ["upload", "download", "verify", "drill", "copy"] as const;
