import type * as z from "zod";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { EnrolAnswer, enrolInput } from "#protocol/wire/hello.ts";
import { OLDEST_ACCEPTED_PROTOCOL, PROTOCOL_VERSION } from "#protocol/base/version.ts";
import type { Transaction } from "#prisma/open.ts";
import { noteRefusal } from "../accounts/auth/refusals.ts";
import { audit } from "../api/audit.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { hashOf, newId, newSecret } from "#server/platform/random-id.ts";
import type { Context } from "../api/trpc.ts";

const FREE_TRIES = 20;
const FREE_PER_MACHINE = 20;
const LONGEST_NAME = 64;
const LONGEST_SUFFIX = 10;

/** Returns `name`, or the first free one of `name-2`, `name-3`, ...: containers of one image often share a name. */
async function freeName(tx: Transaction, name: string): Promise<string> {
  const candidate = (number: number): string => {
    const suffix = number === 1 ? "" : `-${number}`;
    return name.slice(0, LONGEST_NAME - suffix.length) + suffix;
  };
  const startsWith = name.slice(0, LONGEST_NAME - LONGEST_SUFFIX);
  const rows = await tx.node.findMany({ where: { name: { startsWith } }, select: { name: true } });
  const taken = new Set(rows.map((row) => row.name));
  let number = 1;
  while (taken.has(candidate(number))) number++;
  return candidate(number);
}

/** The result of a valid token or workload identity: what the new node belongs to and may write. */
interface Admission {
  profile: { id: string; name: string };
  fleet: string;
  tokenId: string | null;
  identity: string | null;
  /** Patterns of runs that it may write; null: those it names. */
  runs: string | null;
}

/** Checks a join token and counts its use. @throws Fault TOKEN_WRONG, TOKEN_EXPIRED */
async function useToken(tx: Transaction, secret: string, now: number): Promise<Admission> {
  const token = await tx.joinToken.findUnique({ where: { hash: hashOf(secret) }, include: { profile: true } });
  if (token === null) throw new Fault("TOKEN_WRONG");
  if (token.revokedAt !== null || now >= token.expiresAt.getTime() || token.uses >= token.maxUses) {
    throw new Fault("TOKEN_EXPIRED");
  }
  await tx.joinToken.update({ where: { id: token.id }, data: { uses: token.uses + 1 } });
  const { profile, fleet, id: tokenId, runs } = token;
  return { profile, fleet, tokenId, identity: null, runs };
}

/**
 * Enrolls a node with a join token, counted in the same transaction, or with an identity signed by its platform. Returns a
 * credential of its own. @throws Fault TOKEN_WRONG, TOKEN_EXPIRED, PROTOCOL_MISMATCH, TOO_MANY_TRIES, WORKLOAD_REFUSED,
 * WORKLOAD_KEYS_AWAY
 */
export async function enrol({ hub, address }: Context, input: z.infer<typeof enrolInput>): Promise<EnrolAnswer> {
  if (input.protocol < OLDEST_ACCEPTED_PROTOCOL || input.protocol > PROTOCOL_VERSION) {
    throw new Fault("PROTOCOL_MISMATCH", { detail: `worker ${input.protocol}, hub ${PROTOCOL_VERSION}` });
  }
  hub.throttle.take(`enrol:${address}`, FREE_TRIES);
  const workload = input.saladJwt === undefined ? null : await admitWorkload(hub, input.saladJwt);
  const credential = newSecret("tmn");
  const now = hub.now();
  const enrolled = hub.db.$transaction(async (tx) => {
    const admission = workload ?? (await useToken(tx, input.token ?? "", now));
    const { profile, fleet, tokenId, identity, runs } = admission;
    const row = await tx.node.create({
      data: {
        id: newId(),
        name: await freeName(tx, input.name),
        credentialHash: hashOf(credential),
        credentialAt: new Date(now),
        nextHash: null,
        overlapUntil: null,
        rotateAskedAt: null,
        fleet,
        identity,
        runs,
        namedRuns: input.runs === undefined ? null : JSON.stringify(input.runs),
        profileId: profile.id,
        facts: JSON.stringify(input.facts),
        enrolledAt: new Date(now),
        tokenId,
        lastSeenAt: new Date(now),
        leftAt: null,
        revokedAt: null,
        acceptedSeq: 0,
        lastReport: null,
      },
    });
    const caller = { kind: "node" as const, nodeId: row.id, name: row.name, profileId: profile.id };
    const action = identity === null ? "enrol with join token" : "enrol with workload identity";
    const about = { action, subject: identity ?? `fleet ${fleet}`, subjectId: tokenId ?? row.id, address };
    await audit({ db: tx, now: hub.now }, caller, about);
    const text = `joined and keeps its checkpoints in ${profile.name}`;
    const event = await recordEvent(tx, { at: now, kind: "node-joined", work: "safe", node: row, text });
    return { node: { ...row, profileName: profile.name }, event };
  });
  const { node, event } = await enrolled.catch(async (error: unknown) => {
    if (isFault(error)) await noteRefusal(hub, { by: "join-token", address });
    throw error;
  });
  // A success is no guess, so it clears the count of tries.
  hub.throttle.clear(`enrol:${address}`);
  const { id, name, profileId, profileName, tokenId, fleet, identity, runs: mayWrite } = node;
  const known = { id, name, profileId, profileName, tokenId, fleet, identity, mayWrite, facts: input.facts };
  hub.live.addNode({ ...known, enrolledAt: now, lastSeenAt: now }, now);
  emit(hub, event, ["tokens", "profiles"]);
  return { nodeId: id, name, credential };
}

/**
 * Verifies the platform's identity token and limits its reuse. @throws Fault WORKLOAD_REFUSED, WORKLOAD_KEYS_AWAY,
 * TOO_MANY_TRIES
 */
async function admitWorkload(hub: Hub, jwt: string): Promise<Admission> {
  const { organizationId, workloadId, machineId } = await hub.workloads.verify(jwt);
  // An identity can be shown many times while it is valid (minutes). A machine legitimately enrolls a few times, not a
  // thousand.
  hub.throttle.take(`salad:${machineId}`, FREE_PER_MACHINE);
  const { profileName, fleet, runs } = hub.workloads;
  const rows = await hub.db.profile.findMany({
    where: profileName === null ? {} : { name: profileName },
    select: { id: true, name: true },
    take: 2,
  });
  const [profile, another] = rows;
  if (profile === undefined || another !== undefined) {
    const detail = "TIDEMARK_SALAD_PROFILE does not name a bucket profile of this hub";
    throw new Fault("WORKLOAD_REFUSED", { detail });
  }
  const identity = `salad:${organizationId}/${workloadId}/${machineId}`;
  return { profile, fleet, tokenId: null, identity, runs };
}
