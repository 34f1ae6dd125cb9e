import { FrameScheduler } from "./frame-scheduler.ts";

/** For tests: the frame interval of a visible page, in milliseconds, driven by a clock that a test can control. */
export const FRAME_MS = 16;

export const makeFrameScheduler = (): FrameScheduler => new FrameScheduler((run) => setTimeout(run, FRAME_MS, true));
