import { Fault } from "#protocol/faults/fault.ts";
import type { Person } from "#protocol/wire/views.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { hashPassword } from "./password.ts";

/**
 * Creates the first account, an admin, if there is no account yet. Only one of two concurrent calls succeeds. @throws Fault
 * SETUP_CLOSED
 */
export async function createFirstAccount(
  hub: Hub,
  draft: { email: string; password: string; address?: string },
): Promise<Person> {
  const passwordHash = await hashPassword(draft.password, { cost: hub.passwordCost, network: "setup" });
  const { person, event } = await hub.db.$transaction(async (tx) => {
    if ((await tx.user.count()) > 0) throw new Fault("SETUP_CLOSED");
    const created = { id: newId(), email: draft.email, role: "admin" as const };
    await tx.user.create({ data: { ...created, passwordHash, createdAt: new Date(hub.now()), disabledAt: null } });
    const caller = { kind: "person" as const, person: created, sessionHash: "" };
    const from = draft.address === undefined ? {} : { address: draft.address };
    const about = { action: "create first account", subject: created.email, subjectId: created.id, ...from };
    await audit({ db: tx, now: hub.now }, caller, about);
    const event = await recordEvent(tx, {
      at: hub.now(),
      kind: "account-created",
      work: "safe",
      text: `The first account was created: ${draft.email}`,
    });
    return { person: created, event };
  });
  hub.setupCode.close();
  emit(hub, event, ["account"]);
  return person;
}
