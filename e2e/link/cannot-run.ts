/** Why something cannot run on this machine, as a sentence for the person who started it. */
export class CannotRun extends Error {
  override readonly name: string = "CannotRun";
  constructor(sentence: string, cause?: unknown) {
    super(sentence, { cause });
  }
}
