import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { UpkeepView } from "#protocol/wire/upkeep.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { runJanitor } from "./janitor.ts";
import { requireMayDelete } from "#server/core/retention/may-delete.ts";
import { upkeepStatus } from "./status.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { UpkeepState } from "#server/core/api/ports/upkeep-state.ts";

export const createUpkeepState = (): UpkeepState => ({ isJanitorRunning: false, janitorFault: null });

/** Runs the janitor, once at a time, and waits for its end; a failure is kept in the state. @throws Fault IN_USE */
export async function lookOnce(hub: Hub, options: { mode: "report" | "delete"; by: string }): Promise<void> {
  if (hub.upkeep.isJanitorRunning)
    throw new Fault("IN_USE", { op: "janitor", detail: "the janitor is looking already" });
  hub.upkeep.isJanitorRunning = true;
  hub.upkeep.janitorFault = null;
  try {
    await runJanitor(hub, options);
  } catch (error) {
    hub.log.warn({ error }, "the janitor failed");
    hub.upkeep.janitorFault = toFault(error, { op: "janitor" }).toData();
  } finally {
    hub.upkeep.isJanitorRunning = false;
  }
}

/**
 * Starts the janitor without waiting for it: a bucket may take minutes to list.
 * @throws Fault DELETIONS_OFF, IN_USE
 */
export async function startJanitor(
  { hub, caller }: Context & { caller: PersonCaller },
  { mode }: { mode: "report" | "delete" },
): Promise<UpkeepView> {
  if (mode === "delete") await requireMayDelete(hub);
  if (hub.upkeep.isJanitorRunning)
    throw new Fault("IN_USE", { op: "janitor", detail: "the janitor is looking already" });
  void lookOnce(hub, { mode, by: caller.person.email });
  return upkeepStatus(hub);
}
