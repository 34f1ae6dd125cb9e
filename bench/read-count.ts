import { BenchError } from "./bench-error.ts";

/** What an option that counts something was given. @throws BenchError when that is no whole number, or below `least` */
export function readCount(option: string, text: string, least = 1): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= least) return count;
  throw new BenchError(`${option} takes a whole number from ${least}, not "${text}".`);
}
