import { ADOPTED_EPOCH } from "#protocol/checkpoint/adopted.ts";

/**
 * Returns whether a checkpoint is external: another tool wrote its objects. Code that removes objects must ask this first,
 * because they are never deleted, moved or overwritten.
 */
export const isAdoptedRow = ({ writerEpoch }: { writerEpoch: number }): boolean => writerEpoch === ADOPTED_EPOCH;

/** The same test as a query condition: only checkpoints whose objects Tidemark wrote. */
export const WRITTEN_BY_NODES = { writerEpoch: { gt: ADOPTED_EPOCH } } as const;
