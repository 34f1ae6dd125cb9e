import type * as z from "zod";
import {
  groupProvider,
  MOST_ACCOUNTS,
  type AccountTest,
  type AccountView,
  type createAccountInput,
  type updateAccountInput,
} from "#protocol/groups/groups.ts";
import { nodeName } from "#protocol/base/names.ts";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { GroupAccount } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { storedFault } from "#server/core/events/event-row.ts";
import { emit } from "#server/core/events/record-event.ts";
import { newId } from "#server/platform/random-id.ts";
import { groupKeyPlace } from "#server/signer/secret-place.ts";
import { findAccount, withProvider } from "./open-provider.ts";
import type { GroupProvider } from "./provider.ts";

/** Manages accounts at providers. The signer seals a key like that of a bucket; it is never shown again. */

const viewOf = (hub: Hub, row: GroupAccount): AccountView => {
  const until = hub.groups.accounts.get(row.id)?.pausedUntil ?? 0;
  const { id, version, organization, project } = row;
  return {
    id,
    version,
    account: {
      name: nodeName.parse(row.name),
      provider: groupProvider.catch("salad").parse(row.provider),
      organization,
      project,
    },
    lastFault: storedFault(row.lastFault),
    seenAt: row.seenAt?.getTime() ?? null,
    pausedUntil: until > hub.now() ? until : null,
  };
};

export async function listAccounts(hub: Hub): Promise<AccountView[]> {
  const rows = await hub.db.groupAccount.findMany({ orderBy: { name: "asc" } });
  return rows.map((row) => viewOf(hub, row));
}

async function refuseTakenName(hub: Hub, name: string, exceptId: string | null): Promise<void> {
  const taken = await hub.db.groupAccount.findUnique({ where: { name } });
  if (taken === null || taken.id === exceptId) return;
  throw new Fault("CONFLICT", { subject: name, detail: "another account has this name" });
}

const seal = (hub: Hub, id: string, key: string) => hub.signer.sealText({ place: groupKeyPlace(id), text: key });

/** Adds an account. @throws Fault CONFLICT when the name is taken, or there are too many */
export async function createAccount(
  context: Context,
  { account, key }: z.infer<typeof createAccountInput>,
): Promise<{ id: string }> {
  const { hub } = context;
  await refuseTakenName(hub, account.name, null);
  if ((await hub.db.groupAccount.count()) >= MOST_ACCOUNTS) {
    throw new Fault("CONFLICT", { subject: account.name, detail: `there are ${MOST_ACCOUNTS} accounts already` });
  }
  const id = newId();
  const secret = await seal(hub, id, key);
  const at = new Date(hub.now());
  await hub.db.groupAccount.create({
    data: { id, version: 1, ...account, createdAt: at, updatedAt: at, secret: { create: secret } },
  });
  await audit(hub, context.caller, { action: "add group account", subject: account.name, subjectId: id });
  emit(hub, null, ["groups"]);
  return { id };
}

/** Changes an account. @throws Fault NOT_FOUND, CONFLICT (changed meanwhile, name taken) */
export async function updateAccount(
  context: Context,
  { id, version, account, key }: z.infer<typeof updateAccountInput>,
): Promise<{ ok: true }> {
  const { hub } = context;
  const before = await findAccount(hub, id);
  await refuseTakenName(hub, account.name, id);
  const isElsewhere =
    before.organization !== account.organization ||
    before.project !== account.project ||
    before.provider !== account.provider;
  if (key === null && before.organization !== account.organization) {
    throw new Fault("CONFLICT", { subject: before.name, detail: "another organization needs its own key" });
  }
  const secret = key === null ? null : await seal(hub, id, key);
  await hub.db.$transaction(async (tx) => {
    const { count } = await tx.groupAccount.updateMany({
      where: { id, version },
      data: {
        ...account,
        version: version + 1,
        updatedAt: new Date(hub.now()),
        ...(secret === null && !isElsewhere ? {} : { lastFault: null }),
      },
    });
    if (count === 0) throw new Fault("CONFLICT", { subject: before.name });
    if (secret !== null) await tx.groupAccountSecret.update({ where: { accountId: id }, data: secret });
  });
  // The pause was for requests with the former key.
  if (secret !== null) hub.groups.accounts.delete(id);
  await audit(hub, context.caller, { action: "change group account", subject: account.name, subjectId: id });
  emit(hub, null, ["groups"]);
  return { ok: true };
}

/** Removes an account with its rules. Its groups stay as they are. @throws Fault NOT_FOUND */
export async function removeAccount(context: Context, { id }: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const { name } = await findAccount(hub, id);
  await hub.db.groupAccount.delete({ where: { id } });
  hub.groups.accounts.delete(id);
  hub.groups.roundAt.delete(id);
  await audit(hub, context.caller, { action: "remove group account", subject: name, subjectId: id });
  emit(hub, null, ["groups"]);
  return { ok: true };
}

/** Tells an unknown organization from an unknown project: the quotas belong to the organization alone. */
async function lookAt(provider: GroupProvider, { organization, project }: GroupAccount): Promise<string> {
  const groups = await provider.listGroups().catch(async (error: unknown) => {
    const fault = toFault(error);
    if (fault.code !== "GROUP_UNKNOWN") throw fault;
    const isOrganizationKnown = await provider.readQuotas().then(
      () => true,
      (error: unknown) => {
        const inner = toFault(error);
        if (inner.code === "GROUP_UNKNOWN" || inner.code === "GROUP_KEY_REFUSED") return false;
        throw inner;
      },
    );
    const subject = isOrganizationKnown ? `project ${project}` : `organization ${organization}`;
    throw new Fault("GROUP_UNKNOWN", { ...fault.context, subject, cause: error });
  });
  const { replicas } = await provider.readQuotas();
  const quota = replicas === null ? "" : `, ${replicas.used} of ${replicas.most} instances of its quota in use`;
  return `The key works: ${groups.length} ${groups.length === 1 ? "group" : "groups"}${quota}.`;
}

/** Tests the key, the organization and the project of an account. @throws Fault NOT_FOUND */
export async function testAccount(context: Context, { id }: { id: string }): Promise<AccountTest> {
  const { hub } = context;
  const account = await findAccount(hub, id);
  const answer = await withProvider(hub, account, (provider) => lookAt(provider, account)).then(
    (says): AccountTest => ({ ok: true, says, fault: null }),
    (error: unknown): AccountTest => ({
      ok: false,
      says: "",
      fault: toFault(error, { op: "test", subject: account.name }).toData(),
    }),
  );
  await audit(hub, context.caller, { action: "test group account", subject: account.name, subjectId: id });
  emit(hub, null, ["groups"]);
  return answer;
}
