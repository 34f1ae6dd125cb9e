/** A row of the bar that is measured once instead of in hundreds of trials. */
export interface Measure {
  readonly name: string;
  readonly row: number;
  readonly says: string;
  /** Returns why this machine cannot run it; null when it can. */
  readonly whyNot?: () => string | null;
  readonly run: (program: string) => Promise<Measured>;
}

export interface Measured {
  readonly runs: number;
  readonly problems: readonly string[];
  readonly figures: readonly string[];
}
