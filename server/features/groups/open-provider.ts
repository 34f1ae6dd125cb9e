import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { GroupAccount } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { accountMemory } from "#server/core/live/group-memory.ts";
import { groupKeyPlace } from "#server/signer/secret-place.ts";
import { createSaladProvider } from "./salad/salad-provider.ts";
import type { GroupProvider } from "./provider.ts";

/** Opens accounts at providers. A further provider is chosen here by the account's `provider`. */

export async function findAccount(hub: Pick<Hub, "db">, id: string): Promise<GroupAccount> {
  const account = await hub.db.groupAccount.findUnique({ where: { id } });
  if (account === null) throw new Fault("NOT_FOUND", { subject: "this account" });
  return account;
}

/** Requests end when the hub closes, and after `answerMs`. */
interface AccountToCall extends GroupAccount {
  answerMs?: number;
}

/**
 * Opens an account with its stored key.
 * @throws Fault GROUP_KEY_REFUSED without a key, those of the signer
 */
async function openProvider(hub: Hub, account: GroupAccount, signal: AbortSignal): Promise<GroupProvider> {
  const secret = await hub.db.groupAccountSecret.findUnique({ where: { accountId: account.id } });
  if (secret === null) throw new Fault("GROUP_KEY_REFUSED", { subject: account.name, detail: "it has no key" });
  const { text: key } = await hub.signer.openText({ place: groupKeyPlace(account.id), sealed: secret.sealed });
  const { organization, project } = account;
  return createSaladProvider({
    base: hub.settings.saladApi,
    organization,
    project,
    key,
    reach: hub.reach,
    signal,
    now: hub.now,
    memory: accountMemory(hub.groups, account.id),
  });
}

/** Calls the provider of an account, and records whether it answered. @throws what `work` throws, GROUP_UNREACHABLE after `answerMs` */
export async function withProvider<T>(
  hub: Hub,
  account: AccountToCall,
  work: (provider: GroupProvider) => Promise<T>,
): Promise<T> {
  const { answerMs } = account;
  const late = answerMs === undefined ? null : AbortSignal.timeout(answerMs);
  try {
    const signal = late === null ? hub.closing : AbortSignal.any([hub.closing, late]);
    const result = await work(await openProvider(hub, account, signal));
    await noteAnswer(hub, account.id, null);
    return result;
  } catch (error) {
    const isLate = late?.aborted === true && !hub.closing.aborted && toFault(error).code === "CANCELLED";
    const detail = `no answer within ${(answerMs ?? 0) / 1_000} s`;
    const thrown = isLate ? new Fault("GROUP_UNREACHABLE", { subject: account.name, detail }) : error;
    await noteAnswer(hub, account.id, toFault(thrown, { op: "groups", subject: account.name }));
    throw thrown;
  }
}

/** Stores the outcome of a request. A pause and the end of the hub are no faults of the account. */
async function noteAnswer(hub: Hub, id: string, fault: Fault | null): Promise<void> {
  if (fault?.code === "CANCELLED" || fault?.code === "GROUP_PAUSED") return;
  const data =
    fault === null ? { lastFault: null, seenAt: new Date(hub.now()) } : { lastFault: JSON.stringify(fault.toData()) };
  await hub.db.groupAccount.updateMany({ where: { id }, data });
}
