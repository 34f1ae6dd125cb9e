import { getPriority, setPriority } from "node:os";

const LOWER_BY = 5;
const LOWEST = 19;

/**
 * Lowers the calling thread's priority, so that the process's event loop runs first when CPUs are scarce. Linux only:
 * elsewhere the priority applies to the whole process.
 */
export function lowerThread(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(Math.min(LOWEST, getPriority() + LOWER_BY));
  } catch {
    // Without that permission the thread keeps its normal priority.
  }
}
