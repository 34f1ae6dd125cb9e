import { Fault } from "#protocol/faults/fault.ts";
import type { KeySource } from "#protocol/wire/requests.ts";
import type { Context } from "../api/trpc.ts";
import { sealKey } from "./imports.ts";
import type { SealedKey } from "../api/ports/imports.ts";

/** Returns the person's id, because imported keys belong to the person who pasted them. @throws Fault NOT_SIGNED_IN */
export function personIdOf({ caller }: Pick<Context, "caller">): string {
  if (caller.kind !== "person") throw new Fault("NOT_SIGNED_IN");
  return caller.person.id;
}

/**
 * Returns the typed or pasted key, sealed for a row of its own. @throws Fault NOT_FOUND when the pasted key is no longer kept
 */
export async function keyOf(context: Pick<Context, "caller" | "hub">, source: KeySource): Promise<SealedKey> {
  const { hub } = context;
  return "handle" in source ? hub.imports.find(personIdOf(context), source) : await sealKey(hub.signer, source);
}
