import { Fault } from "#protocol/faults/fault.ts";
import type { Comparable } from "#protocol/checkpoint/inspect.ts";
import { hasRole } from "#protocol/wire/requests.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Checks who may look inside objects. Everybody who may see checkpoints may look inside them; any other object needs an
 * operator.
 * @throws Fault ROLE_REQUIRED
 */
export function requireMayLook({ person }: PersonCaller, places: readonly Comparable[]): void {
  if (hasRole(person.role, "operator") || places.every((place) => !("profileId" in place))) return;
  throw new Fault("ROLE_REQUIRED", { detail: "objects outside checkpoints need the role operator" });
}
