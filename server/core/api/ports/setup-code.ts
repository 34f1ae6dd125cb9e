/** Makes the first account possible: whoever can read the hub's console owns the hub. */
export interface SetupCode {
  /** Prints a code unless one is still good. Called at start and whenever somebody looks at the first-run page. */
  offer(): void;
  /** True for the code printed last, while it is good. Case and dashes do not matter. */
  fits(code: string): boolean;
  /** No code is good any more. */
  close(): void;
}
