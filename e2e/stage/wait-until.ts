/**
 * Returns the next polling interval in milliseconds. Queries take CPU time from the programs under test, so longer waits poll
 * less.
 */
const pauseAfter = (waitedMs: number): number => Math.min(500, Math.max(50, waitedMs / 8));

/**
 * Polls until `read` returns a value. Tests wait for conditions, never for a fixed time.
 * @param read returns the wanted value, or null/undefined/false while it is not there yet
 * @param options `everyMs`: polling interval; default: an eighth of the time waited so far, from 50 ms to half a second
 * @throws Error naming `what` after `withinMs` (default 10 minutes: a busy machine is slow, not broken)
 */
export async function waitUntil<T>(
  what: string,
  read: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  options: { withinMs?: number; everyMs?: number } = {},
): Promise<T> {
  const { withinMs = 600_000, everyMs } = options;
  const since = performance.now();
  const deadline = since + withinMs;
  let last: unknown = null;
  for (;;) {
    try {
      const value = await read();
      if (value !== null && value !== undefined && value !== false) return value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`${what} did not happen within ${withinMs / 1000} s`, { cause: last });
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs ?? pauseAfter(performance.now() - since)));
  }
}
