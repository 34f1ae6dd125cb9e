import { getPriority, setPriority } from "node:os";

const LOWER_BY = 5;
const LOWEST = 19;

/**
 * Lowers the priority of the calling thread, so that the event loop of its process goes first where processors are scarce.
 * Linux keeps priorities by thread; elsewhere the whole process would be lowered, so nothing is done.
 */
export function lowerThread(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(Math.min(LOWEST, getPriority() + LOWER_BY));
  } catch {
    // Where the system does not let it, the thread competes with the others.
  }
}
