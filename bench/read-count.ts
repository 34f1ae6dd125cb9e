import { BenchError } from "./bench-error.ts";

/** Parses the value of an option that counts something. @throws BenchError when it is no whole number, or below `least` */
export function readCount(option: string, text: string, least = 1): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= least) return count;
  throw new BenchError(`${option} takes a whole number from ${least}, not "${text}".`);
}
