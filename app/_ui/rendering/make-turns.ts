import { Turns } from "./turns.ts";

/** For tests: the turns of a page that is seen, with a frame every 16 ms of a clock that a test can hold. */
export const FRAME_MS = 16;

export const makeTurns = (): Turns => new Turns((run) => setTimeout(run, FRAME_MS, true));
