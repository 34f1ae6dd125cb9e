import { warmUp, type Engine } from "../transfer/engine.ts";

/** Opens connections for many small objects; a single object needs none in advance. */
export async function warmForSmall(engine: Engine, keys: Iterable<string>): Promise<void> {
  let first: string | null = null;
  let count = 0;
  for (const key of keys) {
    first ??= key;
    count++;
  }
  if (first !== null && count > 1) await warmUp(engine, { op: "head", key: first }, { count, size: "small" });
}
