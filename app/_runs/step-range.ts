export interface StepRange {
  from: number;
  to: number;
}

/** Parses `1200-3400` from the address; null for anything else. */
export function readRange(word: string): StepRange | null {
  const [, from = "", to = ""] = /^(\d{1,15})-(\d{1,15})$/.exec(word) ?? [];
  return from === "" || Number(from) > Number(to) ? null : { from: Number(from), to: Number(to) };
}
