import type * as z from "zod";
import { Fault } from "#protocol/fault.ts";
import type { EnrolAnswer, enrolInput } from "#protocol/hello.ts";
import { OLDEST_ACCEPTED_PROTOCOL, PROTOCOL_VERSION } from "#protocol/version.ts";
import type { Transaction } from "#prisma/open.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import { hashOf, newId, newSecret } from "../random-id.ts";
import type { Context } from "../trpc.ts";

const FREE_TRIES = 20;
const LONGEST_NAME = 64;
const LONGEST_SUFFIX = 10;

/** `name`, or the first of `name-2`, `name-3`, ... that is free: containers of one image often share a name. */
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

/**
 * Takes a node in with a join token, which is counted in the same transaction, and gives it a credential of its own.
 * @throws Fault TOKEN_WRONG, TOKEN_EXPIRED, PROTOCOL_MISMATCH, TOO_MANY_TRIES
 */
export async function enrol({ hub, address }: Context, input: z.infer<typeof enrolInput>): Promise<EnrolAnswer> {
  if (input.protocol < OLDEST_ACCEPTED_PROTOCOL || input.protocol > PROTOCOL_VERSION) {
    throw new Fault("PROTOCOL_MISMATCH", { detail: `worker ${input.protocol}, hub ${PROTOCOL_VERSION}` });
  }
  hub.throttle.take(`enrol:${address}`, FREE_TRIES);
  const credential = newSecret("tmn");
  const now = hub.now();
  const { node, event } = await hub.db.$transaction(async (tx) => {
    const token = await tx.joinToken.findUnique({ where: { hash: hashOf(input.token) }, include: { profile: true } });
    if (token === null) throw new Fault("TOKEN_WRONG");
    if (token.revokedAt !== null || now >= token.expiresAt.getTime() || token.uses >= token.maxUses) {
      throw new Fault("TOKEN_EXPIRED");
    }
    await tx.joinToken.update({ where: { id: token.id }, data: { uses: token.uses + 1 } });
    const row = await tx.node.create({
      data: {
        id: newId(),
        name: await freeName(tx, input.name),
        credentialHash: hashOf(credential),
        profileId: token.profileId,
        facts: JSON.stringify(input.facts),
        enrolledAt: new Date(now),
        tokenId: token.id,
        lastSeenAt: new Date(now),
        leftAt: null,
        revokedAt: null,
        acceptedSeq: 0,
        lastReport: null,
      },
    });
    const text = `joined and keeps its checkpoints in ${token.profile.name}`;
    const event = await recordEvent(tx, { at: now, kind: "node-joined", work: "safe", node: row, text });
    return { node: { ...row, profileName: token.profile.name }, event };
  });
  // What succeeded was no guess.
  hub.throttle.clear(`enrol:${address}`);
  const { id, name, profileId, profileName, tokenId } = node;
  const { facts } = input;
  hub.live.addNode({ id, name, profileId, profileName, tokenId, facts, enrolledAt: now, lastSeenAt: now }, now);
  emit(hub, event, ["tokens", "profiles"]);
  return { nodeId: id, name, credential };
}
