import type { InstanceAction } from "#protocol/groups/groups.ts";

/** State of one account at a provider of groups that is kept in memory, beside its row. */
export interface AccountMemory {
  /** No request is sent before, epoch ms: the provider asked for a pause. */
  pausedUntil: number;
  /** Pauses in a row that the provider asked for without a length. */
  pauses: number;
  /** Actions on instances of the last minute, whose number the provider limits. */
  acted: { at: number; action: InstanceAction }[];
}

export interface GroupMemory {
  readonly accounts: Map<string, AccountMemory>;
  /** The rounds of accounts in flight, by account. */
  readonly rounds: Map<string, Promise<void>>;
  /** Epoch ms of the start of the last round, by account. */
  readonly roundAt: Map<string, number>;
}

export const createGroupMemory = (): GroupMemory => ({
  accounts: new Map(),
  rounds: new Map(),
  roundAt: new Map(),
});

export function accountMemory({ accounts }: GroupMemory, accountId: string): AccountMemory {
  const known = accounts.get(accountId) ?? { pausedUntil: 0, pauses: 0, acted: [] };
  accounts.set(accountId, known);
  return known;
}
