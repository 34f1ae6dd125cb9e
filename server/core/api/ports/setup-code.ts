/** Guards the creation of the first account by a code on the hub's console: a person who can read the console owns the hub. */
export interface SetupCode {
  /** Prints a code unless one is still valid. Called at start and whenever the first-run page is opened. */
  offer(): void;
  /** Returns whether `code` is the last printed one and still valid. Case and dashes do not matter. */
  fits(code: string): boolean;
  /** Invalidates every code. */
  close(): void;
}
