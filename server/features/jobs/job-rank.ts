/** Returns the place of a job in its queue, lowest first: by priority, then interrupted jobs before the others. */
export const rankOf = (priority: number, isInterrupted: boolean): number => -2 * priority + (isInterrupted ? 0 : 1);
