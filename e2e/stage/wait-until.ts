/**
 * Asks again and again until the answer is there: tests wait for conditions, never for a time.
 * @param read returns the wanted value, or null/undefined/false while it is not there yet
 * @throws Error naming `what` when it did not come within the time (default 3 minutes)
 */
export async function waitUntil<T>(
  what: string,
  read: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  options: { withinMs?: number; everyMs?: number } = {},
): Promise<T> {
  const { withinMs = 180_000, everyMs = 100 } = options;
  const deadline = performance.now() + withinMs;
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
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
