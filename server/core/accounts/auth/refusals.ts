import { audit } from "#server/core/api/audit.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { countUp } from "#server/platform/counters.ts";
import { hashOf } from "#server/platform/random-id.ts";
import type { Caller } from "../../api/caller.ts";

/**
 * Records refusals: failed sign-ins and invalid credentials. Each is counted and logged with its network. The audit takes a
 * limited number per hour, because strangers decide how many there are.
 */

type RefusedBy = "password" | "code" | "api-token" | "node-credential" | "join-token";

const HOUR_MS = 3_600_000;
const MOST_AUDITED_AN_HOUR = 500;
const MOST_AUDITED_EACH = 20;
/** Enough for the longest period of an alert rule. */
const MOST_REMEMBERED = 20_000;

interface Refusal {
  by: RefusedBy;
  /** The network it came from. */
  address: string;
  /** The account that was named. */
  account?: { email: string; id: string | null };
}

interface Memory {
  signIns: number[];
  hour: number;
  audited: Map<string, number>;
  total: number;
}

const memories = new WeakMap<Hub, Memory>();

function memoryOf(hub: Hub): Memory {
  const hour = Math.floor(hub.now() / HOUR_MS);
  const known = memories.get(hub) ?? { signIns: [], hour, audited: new Map<string, number>(), total: 0 };
  if (known.hour !== hour) Object.assign(known, { hour, audited: new Map(), total: 0 });
  memories.set(hub, known);
  return known;
}

/** Returns how many sign-ins failed since a moment, epoch ms. */
export const failedSignInsSince = (hub: Hub, at: number): number =>
  memoryOf(hub).signIns.filter((when) => when >= at).length;

const NOBODY: Caller = { kind: "nobody" };

/**
 * Returns the subject of the record. An unknown account is hashed: a password typed into the wrong field must not be
 * recorded.
 */
const subjectOf = ({ by, account }: Refusal): string => {
  if (account === undefined) return by;
  return account.id === null ? `unknown account ${hashOf(account.email).slice(0, 12)}` : account.email;
};

/** Counts a refusal, logs it, and adds it to the audit unless the limit is reached. */
export async function noteRefusal(hub: Hub, refusal: Refusal): Promise<void> {
  const { by, address, account } = refusal;
  const memory = memoryOf(hub);
  countUp(hub.counters.refusals, by);
  if (by === "password") {
    memory.signIns.push(hub.now());
    if (memory.signIns.length > MOST_REMEMBERED) memory.signIns.shift();
  }
  const subject = subjectOf(refusal);
  hub.log.warn({ by, address, subject }, "somebody was not let in");
  const already = memory.audited.get(address) ?? 0;
  if (already >= MOST_AUDITED_EACH || memory.total >= MOST_AUDITED_AN_HOUR) return;
  memory.audited.set(address, already + 1);
  memory.total++;
  const action = by === "password" ? "sign-in failed" : `${by} refused`;
  const subjectId = account?.id ?? undefined;
  await audit(hub, NOBODY, { action, subject, address, ...(subjectId === undefined ? {} : { subjectId }) });
}
