import type { Hub } from "../hub.ts";
import type { Caller } from "../trpc.ts";

/** Remembers who did what to the hub. Kept apart from the events people read every day. */
export async function audit(hub: Hub, caller: Caller, entry: { action: string; subject: string }): Promise<void> {
  const actor = caller.kind === "person" ? caller.person.email : caller.kind === "node" ? `node ${caller.name}` : "-";
  await hub.db.audit.create({ data: { at: new Date(hub.now()), actor, ...entry } });
}
