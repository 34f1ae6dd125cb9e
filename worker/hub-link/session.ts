import { join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { nodeStore, type HubFeature, type NodeFacts, type NodeSettings, type NodeStore } from "#protocol/wire/hello.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import type { Hub } from "./hub.ts";
import type { Outbox } from "./outbox.ts";

/** What the hub said at the last hello: where bytes go, how often to report, what time it is there. Kept on disk, so that a start without the hub knows the store's limits. */
export interface Session {
  /** Faults: PROTOCOL_MISMATCH, NODE_UNKNOWN, NODE_REVOKED, HUB_UNREACHABLE. */
  hello(): Promise<void>;
  readonly store: NodeStore | null;
  settings: NodeSettings;
  /** Whether the hub said that it knows this; null before the first hello of this start. */
  knows(feature: HubFeature): boolean | null;
  /** Epoch ms by the hub's clock, which dates signatures. */
  hubNow(): number;
  readonly name: string;
}

export interface SessionParts {
  hub: Hub;
  state: string;
  name: string;
  bootId: string;
  facts: NodeFacts;
  outbox: Outbox;
  wallNow(): number;
  /** Milliseconds that only go up. */
  monotonicNow?(): number;
}

const FIRST_SETTINGS: NodeSettings = { reportEveryMs: 2_000 };

export async function openSession(parts: SessionParts): Promise<Session> {
  const path = join(parts.state, "store.json");
  const monotonicNow = parts.monotonicNow ?? (() => performance.now());
  const known = {
    offsetMs: 0,
    sinceStartMs: -Infinity,
    store: await readStateFile(path, nodeStore),
    name: parts.name,
    features: null as readonly HubFeature[] | null,
  };
  let last: Promise<void> = Promise.resolve();
  const session: Session = {
    get store() {
      return known.store;
    },
    get name() {
      return known.name;
    },
    settings: FIRST_SETTINGS,
    knows: (feature) => known.features?.includes(feature) ?? null,
    // The later of two reckonings: our clock may be set back, and the other one stands still while the machine sleeps. Too
    // late only signs once more; too early would take a signature that is over for one that is refused.
    hubNow: () => Math.max(parts.wallNow() + known.offsetMs, monotonicNow() + known.sinceStartMs),
    hello: () => {
      // Two at once would write the same state file.
      const turn = last.then(sayHello, sayHello);
      last = turn;
      return turn;
    },
  };
  async function sayHello(): Promise<void> {
    const { bootId, facts } = parts;
    const askedAt = parts.wallNow();
    const answer = await parts.hub.ask("hello", (client, signal) =>
      client.node.hello.mutate({ protocol: PROTOCOL_VERSION, bootId, facts }, { signal }),
    );
    if (!answer.accepted) {
      const older = answer.reason === "worker-too-old" ? "the worker is the older one" : "the hub is the older one";
      throw new Fault("PROTOCOL_MISMATCH", {
        op: "hello",
        detail: `${older}: ${PROTOCOL_VERSION} and ${answer.hubProtocol}`,
      });
    }
    known.offsetMs = answer.hubTimeMs - (askedAt + parts.wallNow()) / 2;
    known.sinceStartMs = answer.hubTimeMs - monotonicNow();
    known.name = answer.name;
    known.features = answer.features ?? [];
    session.settings = answer.settings;
    if (answer.store !== null && JSON.stringify(answer.store) !== JSON.stringify(known.store)) {
      await writeStateFile(path, answer.store);
    }
    known.store = answer.store;
    await parts.outbox.meet(answer.acceptedThrough);
  }
  return session;
}
