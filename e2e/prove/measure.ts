/** A row of the bar that is measured once instead of tried hundreds of times. */
export interface Measure {
  readonly name: string;
  readonly row: number;
  readonly says: string;
  /** Why this machine cannot do it; null when it can. */
  readonly whyNot?: () => string | null;
  readonly run: (program: string) => Promise<Measured>;
}

export interface Measured {
  readonly runs: number;
  readonly problems: readonly string[];
  readonly figures: readonly string[];
}
