/** Why a benchmark cannot run, as a sentence for the person who started it. */
export class BenchError extends Error {
  override readonly name = "BenchError";
  constructor(sentence: string, cause?: unknown) {
    super(sentence, { cause });
  }
}
