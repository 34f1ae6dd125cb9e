/** Who is to be told of each signal. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * `told` is called once when the signal fires. For signals that thousands wait for: a listener of the signal itself is compared
 * with all those before it, and of these there is one. Returns how to be told no more.
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
    // One of them may end others, who are not to be told any more.
    for (const told of all) {
      all.delete(told);
      told();
    }
  };
  signal.addEventListener("abort", tell, { once: true });
  return all;
}
