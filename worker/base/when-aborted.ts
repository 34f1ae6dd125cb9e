/** Callbacks for each signal. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `told` once when the signal fires. Meant for signals with thousands of waiters: `addEventListener` compares a new
 * listener with all earlier ones, and this adds only one. Returns a function that cancels it.
 */
export function whenAborted(signal: AbortSignal, told: () => void): () => void {
  const all = waiting.get(signal) ?? watch(signal);
  all.add(told);
  return () => void all.delete(told);
}

function watch(signal: AbortSignal): Set<() => void> {
  const all = new Set<() => void>();
  waiting.set(signal, all);
  const tell = () => {
    // A callback may cancel others, which are not called then.
    for (const told of all) {
      all.delete(told);
      told();
    }
  };
  signal.addEventListener("abort", tell, { once: true });
  return all;
}
