import { Fault, isFault } from "#protocol/faults/fault.ts";
import { nodeName, type RunName } from "#protocol/base/names.ts";
import type { NodeFacts } from "#protocol/wire/hello.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import { jitter } from "../base/breaker.ts";
import type { Clock } from "../base/clock.ts";
import type { Hub } from "./hub.ts";
import { storeCredential, type NodeCredential } from "./node-credential.ts";

/** Time for which a first start retries a hub that does not answer. */
const FIRST_TRY_MS = 10_000;
/** Most run names in an enrolment; a node that watches more names none. */
const MOST_NAMED = 64;

export interface Enrolment {
  base: string;
  token: string | null;
  /** Returns the platform's identity JWT for this container, which replaces a token; null: a token is needed. */
  identity: (() => Promise<string>) | null;
  name: string;
  facts: NodeFacts;
  /** Runs that this node is going to write; empty: the runs that it claims later. */
  watches: readonly { run: RunName }[];
  state: string;
  clock: Clock;
  signal: AbortSignal;
}

type Proof = { token: string } | { saladJwt: string };

/** Returns the platform's identity or the token. @throws Fault BAD_INPUT without a complete token, PLATFORM_FAILED */
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

/** Refuses a token of a wrong length, such as a truncated copy, without asking the hub. @throws Fault BAD_INPUT */
export function assertWholeToken(token: string): void {
  if (token.length >= 16 && token.length <= 256) return;
  const detail = `a join token has 16 to 256 characters, this one has ${token.length}; copy all of it from Add node`;
  throw new Fault("BAD_INPUT", { op: "enrol", subject: "the join token", detail });
}

/**
 * Exchanges the join token, or the platform's identity JWT, for this node's own credential and stores it.
 * @throws Fault BAD_INPUT without a token, TOKEN_WRONG, TOKEN_EXPIRED, PLATFORM_FAILED, WORKLOAD_REFUSED,
 * WORKLOAD_KEYS_AWAY, PROTOCOL_MISMATCH, HUB_UNREACHABLE, HUB_NOT_TIDEMARK.
 */
export async function enrol(hub: Hub, input: Enrolment): Promise<NodeCredential> {
  const { clock } = input;
  const startedAt = clock.now();
  for (let tries = 0; ; tries++) {
    try {
      const { base, facts, state } = input;
      const name = nodeName.parse(input.name);
      // Requested at every try, because the platform's JWT is valid for minutes only.
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
