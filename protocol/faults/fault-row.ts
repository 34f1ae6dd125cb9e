/** Shape of a row in the fault table; see fault-table.ts. */

/** `now`: retry at once (the link is fine). `backoff`: wait first. `never`: a person or a new plan is needed. */
export type Retry = "now" | "backoff" | "never";

export interface FaultRow {
  readonly retry: Retry;
  readonly http: number;
  readonly exit: number;
  /** Plain description of the failure. `sentenceOf` puts the subject (a key, path, address) in front. */
  readonly says: string;
  /** The next action for the reader, or what Tidemark does by itself. */
  readonly next: string;
}

export const row = (retry: Retry, http: number, rest: { exit: number; says: string; next: string }): FaultRow => ({
  retry,
  http,
  ...rest,
});
