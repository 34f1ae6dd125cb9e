import { expect } from "vitest";

/** Matches the rejection of a call that is refused with this code. For tests. */
export const fault = (code: string): unknown => expect.objectContaining({ cause: expect.objectContaining({ code }) });
