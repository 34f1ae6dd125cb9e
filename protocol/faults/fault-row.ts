/** What is said of every fault: one row of the table in fault-table.ts. */

/** `now`: try again at once (nothing is wrong with the link); `backoff`: wait first; `never`: a person or a new plan is needed. */
export type Retry = "now" | "backoff" | "never";

export interface FaultRow {
  readonly retry: Retry;
  readonly http: number;
  readonly exit: number;
  /** What happened, in plain words. The subject (a key, path, address) is put in front by `sentenceOf`. */
  readonly says: string;
  /** What to do next, or what Tidemark does by itself. */
  readonly next: string;
}

export const row = (retry: Retry, http: number, rest: { exit: number; says: string; next: string }): FaultRow => ({
  retry,
  http,
  ...rest,
});
