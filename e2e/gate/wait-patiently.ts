import { vi } from "vitest";
import { waitPatiently } from "./patience.ts";

/** Set-up of every test file: `vi.waitFor` waits as long as `expect.poll` does. Its own default of a second fails on a busy machine. */
waitPatiently(vi);
