import { expect } from "vitest";

/** For tests: matches what a call rejects with when it is refused with this code. */
export const fault = (code: string): unknown => expect.objectContaining({ cause: expect.objectContaining({ code }) });
