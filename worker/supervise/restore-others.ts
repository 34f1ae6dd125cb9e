import { toFault } from "#protocol/faults/fault.ts";
import { systemClock } from "../base/clock.ts";
import { usage } from "../command-line/command-context.ts";
import { restoreKept, type KeptParts } from "./restore-kept.ts";
import { restoreNamed, type Restored } from "./restore-named.ts";

/** Checkpoints to restore on another machine: the newest, also those that its state names, or also all that are kept. */
const RESTORE_MODES = ["newest", "named", "kept"] as const;
export type RestoreMode = (typeof RESTORE_MODES)[number];

/** Reads --restore. @throws Fault BAD_INPUT */
export function readRestoreMode(text: string | null): RestoreMode {
  const mode = RESTORE_MODES.find((one) => one === (text ?? "named"));
  if (mode === undefined) throw usage(`--restore ${text}`, RESTORE_MODES.join(", "));
  return mode;
}

/** Time that the program's start waits for other checkpoints; larger ones arrive during training. */
const WAIT_MS = 10_000;

/**
 * Restores other checkpoints than the newest, each to its own place. Resolves when all are there, and after 10 s at the
 * latest; the rest then arrives in the background. Failures are reported.
 */
export async function restoreOthers(agent: KeptParts, restored: Restored, mode: RestoreMode): Promise<void> {
  if (mode === "newest") return;
  const work = async () => {
    await restoreNamed(agent, restored);
    if (mode === "kept") await restoreKept(agent, restored);
  };
  const all = work().catch((error: unknown) =>
    agent.reporter.waitingFor(toFault(error, { op: "restore", subject: restored.run })),
  );
  await Promise.race([all, systemClock.sleep(WAIT_MS, agent.signal)]);
}
