import { Fault, isFault } from "#protocol/faults/fault.ts";
import { nodeName, type RunName } from "#protocol/base/names.ts";
import type { NodeFacts } from "#protocol/wire/hello.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import { jitter } from "../base/breaker.ts";
import type { Clock } from "../base/clock.ts";
import type { Hub } from "./hub.ts";
import { storeCredential, type NodeCredential } from "./node-credential.ts";

/** A hub that does not answer is tried for this long before a first start gives up. */
const FIRST_TRY_MS = 10_000;
/** A node that watches more is known by what it claims. */
const MOST_NAMED = 64;

export interface Enrolment {
  base: string;
  token: string | null;
  /** Gives the platform's word about this container, which counts instead of a token; null: a token is needed. */
  identity: (() => Promise<string>) | null;
  name: string;
  facts: NodeFacts;
  /** What it is going to write; none: whatever it claims first. */
  watches: readonly { run: RunName }[];
  state: string;
  clock: Clock;
  signal: AbortSignal;
}

type Proof = { token: string } | { saladJwt: string };

/** Faults: BAD_INPUT without a whole token, PLATFORM_FAILED. */
async function proofOf({ token, identity }: Enrolment): Promise<Proof> {
  if (identity !== null) return { saladJwt: await identity() };
  if (token === null) {
    const detail =
      "this node is not enrolled yet and needs a join token: --token, TIDEMARK_TOKEN or TIDEMARK_TOKEN_FILE";
    throw new Fault("BAD_INPUT", { op: "enrol", subject: "--token", detail });
  }
  assertWholeToken(token);
  return { token };
}

/** No hub need be asked about one that was cut, or is something else. @throws Fault BAD_INPUT */
export function assertWholeToken(token: string): void {
  if (token.length >= 16 && token.length <= 256) return;
  const detail = `a join token has 16 to 256 characters, this one has ${token.length}; copy all of it from Add node`;
  throw new Fault("BAD_INPUT", { op: "enrol", subject: "the join token", detail });
}

/**
 * Exchanges the join token, or the platform's word, for this node's own credential and stores it.
 * Faults: BAD_INPUT without a token, TOKEN_WRONG, TOKEN_EXPIRED, PLATFORM_FAILED, WORKLOAD_REFUSED, WORKLOAD_KEYS_AWAY,
 * PROTOCOL_MISMATCH, HUB_UNREACHABLE, HUB_NOT_TIDEMARK.
 */
export async function enrol(hub: Hub, input: Enrolment): Promise<NodeCredential> {
  const { clock } = input;
  const startedAt = clock.now();
  for (let tries = 0; ; tries++) {
    try {
      const { base, facts, state } = input;
      const name = nodeName.parse(input.name);
      // Asked for at every try: the platform's word is good for minutes only.
      const proof = await proofOf(input);
      const runs = input.watches.map(({ run }) => run);
      const answer = await hub.ask("enrol", (client, signal) =>
        client.node.enrol.mutate(
          {
            ...proof,
            name,
            protocol: PROTOCOL_VERSION,
            facts,
            ...(runs.length > 0 && runs.length <= MOST_NAMED && { runs }),
          },
          { signal },
        ),
      );
      const credential = { hub: base, ...answer };
      await storeCredential(state, credential);
      return credential;
    } catch (error) {
      const wait = isFault(error) && error.retry === "backoff" && clock.now() - startedAt < FIRST_TRY_MS;
      if (!wait) throw error;
      await clock.sleep(200 + jitter(clock, tries), input.signal);
    }
  }
}
