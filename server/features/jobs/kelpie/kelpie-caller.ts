import { Fault } from "#protocol/faults/fault.ts";
import { hasRole, type Role } from "#protocol/wire/requests.ts";
import type { KelpieWorker } from "#protocol/jobs/kelpie.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/** The author of a call of the Kelpie-compatible API. */
export type KelpieCaller =
  /** The owner of an API token. */
  | { kind: "person"; caller: PersonCaller }
  /** A container of SaladCloud by its signed identity. It makes the calls of a worker for itself, and no others. */
  | { kind: "workload"; machineId: string; workloadId: string };

/** Returns the person of a call. @throws Fault ROLE_REQUIRED */
export function requirePerson(caller: KelpieCaller, role: Role): PersonCaller {
  if (caller.kind === "workload") {
    throw new Fault("ROLE_REQUIRED", { detail: "the identity of a container is for the calls of a worker" });
  }
  if (!hasRole(caller.caller.person.role, role))
    throw new Fault("ROLE_REQUIRED", { detail: `it needs the role ${role}` });
  return caller.caller;
}

/** Refuses a worker that names another machine or container group than its own. @throws Fault ROLE_REQUIRED */
export function requireWorker(caller: KelpieCaller, worker: KelpieWorker): void {
  if (caller.kind === "person") {
    requirePerson(caller, "operator");
    return;
  }
  if (caller.machineId === worker.machine_id && caller.workloadId === worker.container_group_id) return;
  const detail = "the identity of the container belongs to another machine or container group";
  throw new Fault("ROLE_REQUIRED", { detail });
}
