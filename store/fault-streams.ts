/** Effects of scripted faults on a stream of body bytes. */

/** Thrown in a stream or a handler to reset the connection there. */
export class ConnectionCut extends Error {
  constructor() {
    super("the connection is cut here by a scripted fault");
  }
}

/** Passes bytes on and calls `act` once, just before the byte at `offset` (or at the end of a shorter stream). */
export async function* interruptAt(
  source: AsyncIterable<Buffer>,
  offset: number,
  act: () => Promise<"continue" | "end">,
): AsyncGenerator<Buffer> {
  let seenBytes = 0;
  let pending = true;
  for await (const chunk of source) {
    const cut = offset - seenBytes;
    seenBytes += chunk.length;
    if (!pending || cut > chunk.length) {
      yield chunk;
      continue;
    }
    pending = false;
    if (cut > 0) yield chunk.subarray(0, cut);
    if ((await act()) === "end") return;
    if (cut < chunk.length) yield chunk.subarray(cut);
  }
  if (pending) await act();
}

/** Passes bytes on with the one at `offset` inverted. */
export async function* flipAt(source: AsyncIterable<Buffer>, offset: number): AsyncGenerator<Buffer> {
  let seenBytes = 0;
  for await (const chunk of source) {
    const at = offset - seenBytes;
    seenBytes += chunk.length;
    if (at < 0 || at >= chunk.length) {
      yield chunk;
      continue;
    }
    const changed = Buffer.from(chunk);
    changed[at] = 255 - (chunk[at] ?? 0);
    yield changed;
  }
}

/** Stalled requests, which can be released all at once or by rule. */
export type StallRoom = {
  /** Waits for `ms` or, if undefined, until released. Ends early when the client disconnects. */
  readonly wait: (ruleId: string, ms: number | undefined, gone: AbortSignal) => Promise<void>;
  readonly release: (ruleId?: string) => number;
};

/** Returns an empty stall room. */
export function openStallRoom(): StallRoom {
  const waiting = new Map<() => void, string>();
  return {
    wait: (ruleId, ms, gone) =>
      new Promise((resolve) => {
        let timer: NodeJS.Timeout | undefined;
        const leave = (): void => {
          clearTimeout(timer);
          gone.removeEventListener("abort", leave);
          waiting.delete(leave);
          resolve();
        };
        if (ms !== undefined) timer = setTimeout(leave, ms);
        gone.addEventListener("abort", leave);
        waiting.set(leave, ruleId);
        if (gone.aborted) leave();
      }),
    release: (ruleId) => {
      const leaving = [...waiting].filter(([, id]) => ruleId === undefined || ruleId === id);
      for (const [leave] of leaving) leave();
      return leaving.length;
    },
  };
}
