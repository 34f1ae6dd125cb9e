export interface Hub {
  readonly startedAt: number;
}
