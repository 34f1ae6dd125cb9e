import { ADOPTED_EPOCH } from "#protocol/checkpoint/adopted.ts";

/**
 * Whether a checkpoint's objects are somebody else's. Whatever removes objects asks this first: those of an adopted
 * checkpoint are never deleted, moved or overwritten.
 */
export const isAdoptedRow = ({ writerEpoch }: { writerEpoch: number }): boolean => writerEpoch === ADOPTED_EPOCH;

/** The same as a condition of a query: only checkpoints whose objects Tidemark wrote. */
export const WRITTEN_BY_NODES = { writerEpoch: { gt: ADOPTED_EPOCH } } as const;
